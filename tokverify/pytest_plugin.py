"""A pytest plugin that turns each case into a test, which fails with the difference, token by token.

Each model has one more test, which fails if the tokenizers themselves differ.

pytest imports this module on every start if tokverify is installed, so everything slow is imported where it is used.
docs/pytest.md explains how to use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tokverify.case import Case
    from tokverify.commands.project.configuration import ConfiguredModel
    from tokverify.errors import TokverifyError
    from tokverify.render.document import Section
    from tokverify.report.run import CaseResult, Report

_MARK = "tokverify(model, *, reference=None, cases=(), suites=(), tags=(), patterns=(), baseline=None)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tokverify` and `--tokverify-allow-outside`."""
    group = parser.getgroup("tokverify")
    group.addoption(
        "--tokverify",
        action="store_true",
        help="also collect the cases of all models configured in tokverify.toml or pyproject.toml",
    )
    group.addoption(
        "--tokverify-allow-outside",
        action="store_true",
        help="let configurations name files outside of their repositories",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and with `--tokverify`, collect the configuration."""
    config.addinivalue_line("markers", f"{_MARK}: run the test, which takes `tokverify_case`, for each case")
    if config.getoption("tokverify"):
        _add_nearest(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a configuration if it is named on the command line, or with `--tokverify`."""
    if file_path.suffix != ".toml":
        return None
    from tokverify.commands.project.configuration_file import FILE, PROJECT, is_configuration
    from tokverify.system.input_file import relative_path

    if file_path.name not in {FILE, PROJECT}:
        return None
    named = parent.session.isinitpath(file_path)
    is_requested = named or (parent.config.getoption("tokverify") and is_configuration(file_path))
    if not is_requested:
        return None
    # pytest cannot name a file above its root directory, where a configuration can be.
    name = Path(relative_path(file_path, parent.config.rootpath)).as_posix()
    return _ConfigurationFile.from_parent(parent, path=file_path, nodeid=name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Create a test for each case that the marker selects, and one for the tokenizers themselves."""
    if "tokverify_case" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("tokverify")
    if mark is None:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: tokverify_case needs @pytest.mark.{_MARK}")
    model = _read_marker(mark, metafunc.config.rootpath)
    tests = _make_tests(model, pytest.UsageError)
    metafunc.parametrize("tokverify_case", tests, ids=[test.name for test in tests])


class CaseTest:
    """One case of one model, a value of the fixture `tokverify_case`."""

    def __init__(self, model: ConfiguredModel, case: Case) -> None:
        self.model = model
        self.case = case
        self.name = case.name

    @property
    def result(self) -> CaseResult:
        """The result of the case. On first use, all cases of the model are verified."""
        return self._report.results[0]

    @property
    def _report(self) -> Report:
        outcome = _verify_cases(self.model)
        if isinstance(outcome, Exception):
            pytest.fail(_plain(outcome), pytrace=False)
        return outcome[self.name]

    def verify(self) -> None:
        """Fail the test with the difference, or skip it, unless the case matches or is a known failure."""
        from tokverify.render.run.cases import case_sections
        from tokverify.report.run import Status

        __tracebackhide__ = True
        result = self.result
        if result.status is Status.SKIPPED:
            pytest.skip(_plain(result.message or "skipped"))
        elif result.fails or (result.explained_by and self._report.strict):
            pytest.fail(_draw(case_sections(self._report, verbose=False)), pytrace=False)


class TokenizersTest:
    """The comparison of a model's tokenizer with its reference apart from the cases, the last value of the fixture."""

    name = "tokenizers"
    case = None
    result = None

    def __init__(self, model: ConfiguredModel) -> None:
        self.model = model

    def verify(self) -> None:
        """Fail the test if the tokenizers themselves differ in a way that makes `tokverify run` fail."""
        from tokverify.errors import GoneError
        from tokverify.render.run.verdict import difference_sections
        from tokverify.report.run import failing_differences

        __tracebackhide__ = True
        report = _verify(self.model)
        if isinstance(report, Exception):
            pytest.fail(_plain(report), pytrace=False)
        if report.gone:
            pytest.fail(_plain(GoneError(report.gone)), pytrace=False)
        if failing_differences(report) or report.fails_uncompared:
            pytest.fail(_draw(difference_sections(report, verbose=True)), pytrace=False)


def _add_nearest(config: pytest.Config) -> None:
    """Collect the configuration that `tokverify run` would use, unless it is collected anyway.

    subtle: reported before collection, since pytest-xdist treats a usage error of a worker as a crash.

    Raises:
        UsageError: If there is no configuration, neither there nor below the arguments.
    """
    from tokverify.commands.project.configuration_file import FILE, PROJECT, contains_configuration, find_file
    from tokverify.errors import TokverifyError

    here = config.invocation_params.dir
    collected = [(here / argument.partition("::")[0]).resolve() for argument in config.args]
    try:
        nearest = find_file(here)
    except TokverifyError as error:
        raise pytest.UsageError(_plain(error)) from None
    ignored = config.getini("norecursedirs")
    if nearest is None and not any(contains_configuration(path, ignored) for path in collected):
        raise pytest.UsageError(
            _plain(
                f"--tokverify: no {FILE}, and no {PROJECT} with a table [tool.tokverify], in {here}, above it, or below"
                " the arguments; `tokverify init` creates one"
            )
        )
    if nearest and not any(nearest.is_relative_to(path) for path in collected):
        config.args.append(str(nearest))


def _read_marker(mark: pytest.Mark, root: Path) -> ConfiguredModel:
    """Read the arguments of a marker; paths are relative to pytest's root directory."""
    from tokverify.commands.project.configuration import configure_model
    from tokverify.errors import TokverifyError

    for name in ("cases", "suites", "tags", "patterns"):
        if isinstance(mark.kwargs.get(name), str):
            raise pytest.UsageError(
                f"@pytest.mark.tokverify: {name} must be a list, such as {name}=[{mark.kwargs[name]!r}]"
            )
    try:
        return configure_model(root, *mark.args, **mark.kwargs)
    except TypeError as error:
        raise pytest.UsageError(f"@pytest.mark.tokverify: {error}; the marker is {_MARK}") from error
    except TokverifyError as error:
        raise pytest.UsageError(f"@pytest.mark.tokverify: {_plain(error)}") from None


def _make_tests(model: ConfiguredModel, error_type: type[Exception]) -> list[CaseTest | TokenizersTest]:
    """Create the tests of a model; errors are raised as `error_type`."""
    from tokverify.cases.loading import select_cases
    from tokverify.errors import TokverifyError

    try:
        cases = select_cases(model.cases, model.suites, model.tags, model.patterns)
    except TokverifyError as error:
        raise error_type(_plain(error)) from None
    return [*(CaseTest(model, case) for case in cases), TokenizersTest(model)]


@lru_cache(maxsize=8)
def _verify(model: ConfiguredModel) -> Report | TokverifyError:
    """Verify a model once. An error is cached, since all tests need it."""
    from tokverify.commands.tasks.check import CheckRequest, run_model
    from tokverify.errors import TokverifyError

    try:
        return run_model(CheckRequest(model=model, diagnose=False)).report
    except TokverifyError as error:
        return error


@lru_cache(maxsize=8)
def _verify_cases(model: ConfiguredModel) -> Mapping[str, Report] | TokverifyError:
    """Return a report for each case of a model."""
    report = _verify(model)
    if isinstance(report, Exception):
        return report
    alone = replace(report, baseline=None)
    return {result.case.name: replace(alone, results=(result,)) for result in report.results}


def _draw(sections: Iterable[Section]) -> str:
    """Draw a part of a report like `tokverify run`."""
    from tokverify.render.draw_table import draw_sections
    from tokverify.render.options import RenderOptions
    from tokverify.system.ci import escape_for_log

    return escape_for_log(draw_sections(sections, RenderOptions()))


def _plain(message: object) -> str:
    from tokverify.system.ci import escape_for_log
    from tokverify.text.visible import visible_message

    return escape_for_log(visible_message(str(message)))


class _ConfigurationFile(pytest.File):
    """A configuration, with a collector for each model."""

    def collect(self) -> Iterator[pytest.Collector]:
        from tokverify.commands.project.configuration_reader import read_configuration
        from tokverify.errors import TokverifyError

        try:
            allow_outside = bool(self.config.getoption("tokverify_allow_outside"))
            configuration = read_configuration(self.path, allow_outside=allow_outside)
        except TokverifyError as error:
            raise self.CollectError(_plain(error)) from None
        for model in configuration.models:
            yield _ModelCollector.from_parent(self, name=model.name, model=model)


class _ModelCollector(pytest.Collector):
    """A configured model, with a test for each case, and one for the tokenizers themselves."""

    def __init__(self, *, model: ConfiguredModel, **options: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**options)
        self._model = model

    def collect(self) -> Iterator[pytest.Item]:
        for test in _make_tests(self._model, self.CollectError):
            yield _Item.from_parent(self, name=test.name, test=test)


class _Item(pytest.Item):
    """A test of a configured model."""

    def __init__(self, *, test: CaseTest | TokenizersTest, **options: Any) -> None:  # noqa: ANN401 - pytest's own
        super().__init__(**options)
        self._test = test

    def runtest(self) -> None:
        self._test.verify()

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self._test.model.name} {self._test.name}"
