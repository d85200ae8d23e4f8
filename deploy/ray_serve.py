"""Two replicas of a model on a Ray cluster, for a bot with ``[engine] kind = "remote"``.

``pip install 'ray[llm]'``, then ``serve run deploy.ray_serve:app``; see docs/cluster.md. The sizes are those of the
bot's profile "balanced".
"""

from ray.serve.llm import LLMConfig, build_openai_app

# Steps with a CUDA graph; vLLM has none above 512 tokens by itself.
GRAPH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 576, 640, 768, 1024, 1088, 1280, 1536, 2048]

model = LLMConfig(
    model_loading_config={"model_id": "qwen2-7b", "model_source": "Qwen/Qwen2-7B-Instruct"},
    deployment_config={"num_replicas": 2},
    engine_kwargs={
        "max_model_len": 8192,
        "max_num_batched_tokens": 2048,
        "long_prefill_token_threshold": 960,
        "enable_prefix_caching": True,
        "compilation_config": {"cudagraph_capture_sizes": GRAPH_SIZES},
    },
)
app = build_openai_app({"llm_configs": [model]})
