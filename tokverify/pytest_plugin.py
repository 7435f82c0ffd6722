"""A pytest plugin: each case is a test, and a mismatch fails it with the difference, token by token.

pytest imports this at every start wherever tokverify is installed, so whatever takes time is imported where it is used.
How to use it is told in docs/pytest.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.errors import TokverifyError
    from tokverify.project.configuration import ConfiguredModel
    from tokverify.report.run import CaseResult, Report

_MARK = "tokverify(model, *, reference=None, cases=(), suites=(), tags=(), patterns=(), baseline=None)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tokverify`."""
    parser.getgroup("tokverify").addoption(
        "--tokverify",
        action="store_true",
        help="collect the cases of every model that tokverify.toml or pyproject.toml names, too",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker, and have the configuration collected with `--tokverify`."""
    config.addinivalue_line("markers", f"{_MARK}: run a test on each case; it takes `tokverify_case`")
    if config.getoption("tokverify"):
        _add_nearest(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a configuration that is named on the command line, or any with `--tokverify`."""
    if file_path.suffix != ".toml":
        return None
    from tokverify.project.configuration import FILE, PROJECT

    if file_path.name not in {FILE, PROJECT}:
        return None
    named = parent.session.isinitpath(file_path)
    wanted = named or (parent.config.getoption("tokverify") and _configures(file_path))
    if not wanted:
        return None
    # pytest has no name for what is above its root directory, as a configuration can be.
    name = Path(os.path.relpath(file_path, parent.config.rootpath)).as_posix()
    return _ConfigurationFile.from_parent(parent, path=file_path, nodeid=name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case that the marker selects."""
    if "tokverify_case" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("tokverify")
    if mark is None:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: tokverify_case needs @pytest.mark.{_MARK}")
    tests = _tests_of(_marked(mark, metafunc.config.rootpath), pytest.UsageError)
    metafunc.parametrize("tokverify_case", tests, ids=[test.name for test in tests])


class CaseTest:
    """One case of one model, as a test gets it from `tokverify_case`."""

    def __init__(self, model: ConfiguredModel, case: Case) -> None:
        self.model = model
        self.case = case

    @property
    def name(self) -> str:
        """The suite and the id of the case."""
        return f"{self.case.suite}/{self.case.id}"

    @property
    def result(self) -> CaseResult:
        """What came of it; the first to ask has all cases of the model compared."""
        return _results(self.model)[self.name]

    def verify(self) -> None:
        """Fail the test with the difference, or skip it, unless the case matches or is known to fail."""
        from tokverify.report.run import Status

        __tracebackhide__ = True
        result = self.result
        if result.status is Status.SKIPPED:
            pytest.skip(_plain(result.message or "skipped"))
        elif result.status in {Status.MISMATCH, Status.ERROR}:
            pytest.fail(_shown(self.model, result), pytrace=False)


def _add_nearest(config: pytest.Config) -> None:
    """Have the configuration collected that `tokverify run` would find, if it is not among what is collected anyway.

    subtle: told here and not after collecting, since pytest-xdist takes a usage error of a worker for a crash.

    Raises:
        UsageError: If nothing is configured there, nor in what is collected.
    """
    from tokverify.errors import TokverifyError
    from tokverify.project.configuration import FILE, PROJECT, find_file

    here = config.invocation_params.dir
    collected = [(here / argument.partition("::")[0]).resolve() for argument in config.args]
    try:
        nearest = find_file(here)
    except TokverifyError as error:
        raise pytest.UsageError(_plain(str(error))) from None
    if nearest is None and not any(_is_configured_below(path, config.getini("norecursedirs")) for path in collected):
        raise pytest.UsageError(
            _plain(
                f"--tokverify: no {FILE}, and no {PROJECT} with a table [tool.tokverify], in {here} or above it, nor in"
                " what is collected; `tokverify init` writes one"
            )
        )
    if nearest and not any(nearest.is_relative_to(path) for path in collected):
        config.args.append(str(nearest))


def _is_configured_below(path: Path, left_out: Sequence[str]) -> bool:
    """Look for a configuration as pytest will: not in directories whose names match `left_out`."""
    if path.is_file():
        return _configures(path)
    for here, directories, names in os.walk(path):
        directories[:] = [name for name in directories if not any(fnmatch(name, pattern) for pattern in left_out)]
        if any(_configures(Path(here, name)) for name in names if name.endswith(".toml")):
            return True
    return False


def _configures(file: Path) -> bool:
    """Tell whether a file is the configuration of its directory; one that is broken is, so that this is told of it."""
    from tokverify.errors import TokverifyError
    from tokverify.project.configuration import PROJECT, file_in

    try:
        return file_in(file.parent) == file
    except TokverifyError:
        return file.name == PROJECT


def _marked(mark: pytest.Mark, root: Path) -> ConfiguredModel:
    """Read a marker; its paths are relative to pytest's root directory."""
    from tokverify.cases.case import SHIPPED, is_shipped
    from tokverify.errors import TokverifyError
    from tokverify.project.configuration import ConfiguredModel

    def read(  # noqa: PLR0913 - the arguments of the marker
        model: str,
        *,
        reference: str | None = None,
        cases: Sequence[str] = (),
        suites: Sequence[str] = (),
        tags: Sequence[str] = (),
        patterns: Sequence[str] = (),
        baseline: str | None = None,
    ) -> ConfiguredModel:
        def at(path: str) -> Path:
            return Path(os.path.relpath(root / path))

        return ConfiguredModel(
            name=Path(model).stem,
            model=at(model),
            reference=str(at(reference)) if reference and (root / reference).exists() else reference,
            cases=tuple(SHIPPED if is_shipped(name, root) else at(name) for name in cases),
            suites=tuple(suites),
            tags=tuple(tags),
            patterns=tuple(patterns),
            baseline=None if baseline is None else at(baseline),
        )

    for name in ("cases", "suites", "tags", "patterns"):
        if isinstance(mark.kwargs.get(name), str):
            raise pytest.UsageError(f"@pytest.mark.tokverify: {name} is a list, such as {name}=[{mark.kwargs[name]!r}]")
    try:
        return read(*mark.args, **mark.kwargs)
    except TypeError as error:
        raise pytest.UsageError(f"@pytest.mark.tokverify: {error}; it is {_MARK}") from error
    except TokverifyError as error:
        raise pytest.UsageError(f"@pytest.mark.tokverify: {_plain(str(error))}") from None


def _tests_of(model: ConfiguredModel, error_type: type[Exception]) -> list[CaseTest]:
    """Read the cases of a model; what is wrong with them is raised as pytest wants it in that place."""
    from tokverify.errors import TokverifyError

    try:
        return [CaseTest(model, case) for case in _cases(model)]
    except TokverifyError as error:
        raise error_type(_plain(str(error))) from None


def _cases(model: ConfiguredModel) -> list[Case]:
    from tokverify.cases.loading import load_cases
    from tokverify.cases.selection import select

    cases = load_cases(model.cases or None)
    return select(cases, suites=model.suites, tags=model.tags, patterns=model.patterns)


def _report(model: ConfiguredModel) -> Report:
    from tokverify.errors import TokverifyError

    outcome = _outcome(model)
    if isinstance(outcome, TokverifyError):
        pytest.fail(_plain(str(outcome)), pytrace=False)
    return outcome


@lru_cache(maxsize=8)
def _outcome(model: ConfiguredModel) -> Report | TokverifyError:
    """Compare all cases of a model; an error is kept as well, as each of its tests will ask."""
    from tokverify.errors import TokverifyError
    from tokverify.tasks.comparison import verify_model
    from tokverify.verify.baseline import read_baseline, utc_today

    try:
        baseline = None if model.baseline is None else read_baseline(model.baseline, utc_today())
        return verify_model(model.model, model.reference, _cases(model), baseline=baseline)
    except TokverifyError as error:
        return error


@lru_cache(maxsize=8)
def _results(model: ConfiguredModel) -> Mapping[str, CaseResult]:
    return {f"{result.case.suite}/{result.case.id}": result for result in _report(model).results}


def _shown(model: ConfiguredModel, result: CaseResult) -> str:
    """Write a result as `tokverify run` does."""
    from dataclasses import replace

    from tokverify.render import RenderOptions
    from tokverify.render.draw_table import draw_sections
    from tokverify.render.run.cases import case_sections

    one = replace(_report(model), results=(result,), baseline=None)
    return _for_log(draw_sections(case_sections(one, verbose=False), RenderOptions()))


def _plain(text: str) -> str:
    from tokverify.text.visible import visible_message

    return _for_log(visible_message(text))


def _for_log(text: str) -> str:
    from tokverify.system.workflow_log import in_workflow, without_commands

    return without_commands(text) if in_workflow() else text


class _ConfigurationFile(pytest.File):
    """A configuration: a collector for each of its models."""

    def collect(self) -> Iterator[pytest.Collector]:
        from tokverify.errors import TokverifyError
        from tokverify.project.configuration import read_configuration

        try:
            configuration = read_configuration(self.path)
        except TokverifyError as error:
            raise self.CollectError(_plain(str(error))) from None
        for model in configuration.models:
            yield _ModelCollector.from_parent(self, name=model.name, model=model)


class _ModelCollector(pytest.Collector):
    """A configured model: a test for each of its cases."""

    def __init__(self, *, model: ConfiguredModel, **options: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**options)
        self._model = model

    def collect(self) -> Iterator[pytest.Item]:
        for test in _tests_of(self._model, self.CollectError):
            yield _CaseItem.from_parent(self, name=test.name, test=test)


class _CaseItem(pytest.Item):
    """A case of a configured model."""

    def __init__(self, *, test: CaseTest, **options: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**options)
        self._test = test

    def runtest(self) -> None:
        self._test.verify()

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self._test.model.name} {self._test.name}"
