"""Two replicas of a model on a Ray cluster, for a bot with ``[engine] kind = "remote"``.

``pip install 'ray[llm]'``, then ``serve run deploy.ray_serve:app``; see docs/cluster.md. The sizes are those of the
bot's profile "balanced".
"""

from ray.serve.llm import LLMConfig, build_openai_app

model = LLMConfig(
    model_loading_config={"model_id": "qwen2-7b", "model_source": "Qwen/Qwen2-7B-Instruct"},
    deployment_config={"num_replicas": 2},
    engine_kwargs={
        "max_model_len": 8192,
        "max_num_batched_tokens": 2048,
        "long_prefill_token_threshold": 960,
        "enable_prefix_caching": True,
    },
)
app = build_openai_app({"llm_configs": [model]})
