# The studies with their environment, for processors alone, from requirements.lock with its hashes. Checked for form only: nobody has
# built it yet. Built while the wheels exist, an image outlives them:
#
#   docker build -t sentence-embedding-studies .
#   docker run --rm -v "$PWD/figures:/studies/figures" -v studies-cache:/studies/.cache sentence-embedding-studies
#   docker run --rm -it --network host sentence-embedding-studies make lab
FROM python:3.12-slim-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /studies
# What the environment is made from comes first, so a changed notebook does not build it anew.
COPY requirements.txt requirements-dev.txt requirements-models.txt requirements.lock pyproject.toml ./
COPY tools/bootstrap.py tools/
COPY lib lib
RUN TORCH_INDEX=cpu python3 -I tools/bootstrap.py requirements.lock \
    && rm -rf /root/.cache
COPY . .
RUN touch .venv/complete
CMD ["make", "figures"]
