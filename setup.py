"""Build the native engine if that is possible; everything else is declared in pyproject.toml.

`pip install .` compiles `tokverify._native` if it finds a Rust toolchain. Without one, or if the build fails, tokverify
is installed all the same and uses the Python engine. setuptools-rust supports such an optional extension; maturin does
not.

The variable TOKVERIFY_BUILD changes that: `native` makes a failed build an error, and `python` skips the build. With
TOKVERIFY_REPOSITORY, the address of the repository, the links of the readme work elsewhere, as on PyPI.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools_rust import Binding, RustExtension

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLE = "TOKVERIFY_BUILD"
CHOICES = ("", "native", "python")
SUITES = Path("tokverify", "cases", "suites")
"""Where the installed package has the suites of `cases/`."""


class BuildWithSuites(build_py):
    """Also copies the suites into the package; an editable installation finds them in the checkout."""

    def run(self) -> None:
        """Copy the modules, the data and the suites."""
        super().run()
        if not self.editable_mode:
            shutil.copytree("cases", Path(self.build_lib, SUITES), dirs_exist_ok=True)


def extensions() -> Sequence[RustExtension]:
    """Return the native engine, unless it is not to be built."""
    choice = os.environ.get(VARIABLE, "")
    if choice not in CHOICES:
        raise SystemExit(f"{VARIABLE} is {choice!r}; set it to native or python, or leave it unset")
    if choice == "python" or (not choice and shutil.which("cargo") is None):
        return []
    engine = RustExtension(
        "tokverify._native",
        path="native/python/Cargo.toml",
        args=["--locked"],
        binding=Binding.PyO3,
        py_limited_api=True,
        debug=False,
        optional=not choice,
    )
    return [engine]


def links() -> dict[str, object]:
    """Return the readme and addresses, which depend on where the repository is."""
    readme = Path("README.md").read_text(encoding="utf-8")
    repository = os.environ.get("TOKVERIFY_REPOSITORY")
    if not repository:
        return {"long_description": readme}
    # An image needs its content, and another link the page that shows it.
    readme = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{repository}/raw/main/", readme)
    readme = re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{repository}/blob/main/", readme)
    places = {"Source": "", "Documentation": "/blob/main/docs/index.md", "Changelog": "/blob/main/CHANGELOG.md"}
    urls = {name: repository + place for name, place in {**places, "Issues": "/issues"}.items()}
    return {"long_description": readme, "project_urls": urls}


def main() -> None:
    """Run the setuptools command."""
    rust_extensions = extensions()
    options = {"bdist_wheel": {"py_limited_api": "cp311"}} if rust_extensions else {}
    setup(
        rust_extensions=rust_extensions,
        options=options,
        cmdclass={"build_py": BuildWithSuites},
        long_description_content_type="text/markdown",
        **links(),
    )


main()
