# Tasks for contributors. Run `just` to list them.

bin := ".venv/bin"

[private]
default:
    @just --list

# Create .venv and install tokverify with all tools
setup:
    python3 -m venv .venv
    {{bin}}/pip install -q -e '.[dev]'

# Run the tests that need neither real data nor child processes (under a minute)
fast *arguments:
    {{bin}}/pytest -q -n auto -m "not real and not process" {{arguments}}

# Run all tests except the slow ones
test *arguments:
    {{bin}}/pytest -q -n auto {{arguments}}

# Check lint, formatting, types and layers
lint:
    .ci/lint

# Fix and format the code
format:
    {{bin}}/ruff check --fix .
    {{bin}}/ruff format .

# Run everything that a submission must pass
ci:
    bash .ci/run

# Build the documentation into build/site
docs:
    {{bin}}/mkdocs build --strict

# Rewrite the output of the console sessions in the documentation
sessions +pages="docs/*.md":
    for page in {{pages}}; do PYTHONPATH=tests {{bin}}/python tests/support/console.py "$page"; done

# Rewrite the golden files; review the changes before you commit them
golden:
    PYTHONPATH=tests {{bin}}/python tests/support/make_golden.py

# Measure the speed of the encoder
bench *arguments:
    {{bin}}/python benchmarks/encoders.py {{arguments}}

# Build the native engine for this checkout
native:
    cd native && cargo build --release -p tokverify-python --target-dir "${CARGO_TARGET_DIR:-target}"
    # A running process may use the old file, which must not change.
    cp "${CARGO_TARGET_DIR:-native/target}/release/lib_native.so" tokverify/_native.new
    mv tokverify/_native.new tokverify/_native.abi3.so
