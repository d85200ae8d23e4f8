# syntax=docker/dockerfile:1.7
# docker build -t clawdbot .                  for an NVIDIA GPU (CUDA comes with the packages, the driver with the host)
# docker build -t clawdbot:cpu --target cpu . without one
# docker build -t clawdbot:remote --target remote .   for a model that runs on servers elsewhere
# The constraints were compiled for this Python.
ARG PYTHON=3.11-slim-bookworm

FROM python:${PYTHON} AS tools
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src
ENV XDG_CACHE_HOME=/cache UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
COPY constraints/tools.txt constraints/
RUN --mount=type=cache,target=/cache python -m venv /venv \
    && /venv/bin/python -m pip install --quiet --requirement constraints/tools.txt
COPY pyproject.toml README.md LICENSE ./

# Dependencies first: they change seldom, and take minutes.
FROM tools AS built-cpu
COPY constraints/cpu.txt constraints/cpu-overrides.txt constraints/
RUN --mount=type=cache,target=/cache /venv/bin/python -m pip install --no-deps \
        --extra-index-url https://download.pytorch.org/whl/cpu "$(grep '^torch==' constraints/cpu.txt)" \
    && /venv/bin/uv pip install --python /venv/bin/python --requirement pyproject.toml --extra cpu \
        --constraints constraints/cpu.txt --overrides constraints/cpu-overrides.txt
COPY clawdbot clawdbot
COPY adapters adapters
RUN --mount=type=cache,target=/cache /venv/bin/uv pip install --python /venv/bin/python --no-deps .

FROM tools AS built-cuda
COPY constraints/cuda.txt constraints/
RUN --mount=type=cache,target=/cache /venv/bin/uv pip install --python /venv/bin/python \
        --requirement pyproject.toml --extra cuda --constraints constraints/cuda.txt
COPY clawdbot clawdbot
COPY adapters adapters
RUN --mount=type=cache,target=/cache /venv/bin/uv pip install --python /venv/bin/python --no-deps .

# A bot whose model runs elsewhere; the versions are the same as with vLLM for CPUs.
FROM tools AS built-remote
COPY constraints/cpu.txt constraints/
RUN --mount=type=cache,target=/cache /venv/bin/uv pip install --python /venv/bin/python \
        --requirement pyproject.toml --extra remote --constraints constraints/cpu.txt
COPY clawdbot clawdbot
COPY adapters adapters
RUN --mount=type=cache,target=/cache /venv/bin/uv pip install --python /venv/bin/python --no-deps .

FROM python:${PYTHON} AS base
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data clawdbot \
    && install --directory --owner clawdbot --group clawdbot /data /cache
# All that is ever written goes below /data (conversations), /cache (models, compiled kernels) and /tmp, so the rest can
# be read-only.
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/data XDG_DATA_HOME=/data XDG_CACHE_HOME=/cache \
    TORCHINDUCTOR_CACHE_DIR=/cache/inductor TRITON_CACHE_DIR=/cache/triton MPLCONFIGDIR=/cache/matplotlib
USER 10001:10001
WORKDIR /data
VOLUME ["/data", "/cache"]
STOPSIGNAL SIGTERM
ENV CLAWDBOT_CONFIG=/etc/clawdbot/config.toml
# Asks /healthz where the configuration has [ops] enabled; without it there is nothing to ask, and that is healthy.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["python", "-m", "clawdbot.ops.probe"]
ENTRYPOINT ["clawdbot"]
CMD ["run"]

FROM base AS remote
COPY --from=built-remote /venv /venv

FROM base AS engine
# libnuma: vLLM on a CPU loads it. g++: torch.compile and Triton make their kernels with it at the first start.
USER 0:0
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ libnuma1 \
    && rm -rf /var/lib/apt/lists/*
USER 10001:10001

FROM engine AS cpu
COPY --from=built-cpu /venv /venv

# The last stage is the one that is built when none is named.
FROM engine AS cuda
# FlashInfer's sampler would be compiled by nvcc at the first start; vLLM's own is as fast for one bot.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility VLLM_USE_FLASHINFER_SAMPLER=0
COPY --from=built-cuda /venv /venv
