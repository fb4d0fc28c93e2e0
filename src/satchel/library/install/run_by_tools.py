"""Files that common tools run by themselves, because of their name.

Whoever runs `pytest` in a project runs every `conftest.py` below it. So what an agent wrote must not come to
lie under such a name where people work, and what somebody else wrote should be seen to bring one. The list
can't be complete: it is a second line, behind keeping agents' code below a dot directory.
"""

from collections.abc import Iterable, Iterator

_SCRIPTS = ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs")

RUN_BY: dict[str, tuple[str, ...]] = {
    "pytest": ("conftest.py", "test_*.py", "*_test.py", "test*.txt", "pytest.ini", "setup.cfg"),
    "unittest": ("test*.py",),
    "pip": ("setup.py", "pyproject.toml", "hatch_build.py"),
    "Python itself": ("sitecustomize.py", "usercustomize.py", "*.pth"),
    "nox": ("noxfile.py",),
    "tox": ("tox.ini", "toxfile.py"),
    "Fabric": ("fabfile.py",),
    "Invoke": ("tasks.py",),
    "Django": ("manage.py",),
    "doit": ("dodo.py",),
    "Paver": ("pavement.py",),
    "Locust": ("locustfile.py",),
    "Sphinx": ("conf.py",),
    "Gunicorn": ("gunicorn.conf.py",),
    "IPython": ("ipython_config.py",),
    "Jupyter": ("jupyter_*config.py",),
    "Conan": ("conanfile.py",),
    "pdb": (".pdbrc",),
    "SCons": ("SConstruct", "SConscript"),
    "Waf": ("wscript",),
    "Snakemake": ("Snakefile",),
    "Meson": ("meson.build",),
    "CMake": ("CMakeLists.txt",),
    "make": ("Makefile", "GNUmakefile", "*.mk"),
    "just": ("justfile", ".justfile"),
    "Task": ("Taskfile.yml", "Taskfile.yaml"),
    "node --test": tuple(
        f"{name}.{ending}"
        for name in ("test", "test-*", "*.test", "*-test", "*_test", "test/*")
        for ending in _SCRIPTS
    ),
    "Jest": tuple(f"{name}.{ending}" for name in ("spec", "*.spec", "__tests__/*") for ending in _SCRIPTS),
    "npm": ("package.json", ".npmrc", "binding.gyp"),
    "Yarn": (".yarnrc.yml", ".yarnrc"),
    "pnpm": (".pnpmfile.cjs", "pnpmfile.js"),
    "Bun": ("bunfig.toml", *(f"*_spec.{ending}" for ending in _SCRIPTS)),
    "Deno": ("deno.json", "deno.jsonc"),
    "deno bench": tuple(
        f"{name}.{ending}" for name in ("bench", "*.bench", "*_bench") for ending in _SCRIPTS
    ),
    "JavaScript tools": (*(f"*.config.{ending}" for ending in _SCRIPTS), ".eslintrc.*", ".mocharc.*"),
    "formatters and linters": (".prettierrc*", ".stylelintrc*", ".lintstagedrc*"),
    "go test": ("*_test.go",),
    "gulp": ("gulpfile.*",),
    "Grunt": ("gruntfile.*",),
    "Jake": ("jakefile", "jakefile.*"),
    "Knex": ("knexfile.*",),
    "Danger": ("dangerfile.*",),
    "Plop": ("plopfile.*",),
    "Rake": ("Rakefile", "*.rake"),
    "Bundler": ("Gemfile", "*.gemspec"),
    "Guard": ("Guardfile",),
    "Vagrant": ("Vagrantfile",),
    "Gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "Maven": ("pom.xml",),
    "Ant": ("build.xml",),
    "Cargo": ("build.rs", "Cargo.toml"),
    "Bazel": ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bazelrc"),
    "Docker": ("Dockerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"),
    "Jenkins": ("Jenkinsfile",),
    "GitLab": (".gitlab-ci.yml",),
    "pre-commit": (".pre-commit-config.yaml", ".pre-commit-hooks.yaml"),
    "lefthook": ("lefthook.yml", ".lefthook.yml"),
    "Husky": (".husky/*",),
    "direnv": (".envrc",),
    "mise": ("mise.toml", ".mise.toml"),
    "Vim": (".exrc", ".vimrc", ".nvimrc", ".nvim.lua"),
    "GDB": (".gdbinit",),
    "LLDB": (".lldbinit",),
    "editors": (".vscode/*", ".idea/*", ".dir-locals.el", "*.code-workspace"),
    "coding agents": (".claude/*", ".cursor/*", ".mcp.json"),
}
"""For each tool, the files that it runs, or that tell it what to run; with a slash, those below a folder.

A name has one star at most. Case makes no difference, as on some systems."""

_LOOKING = frozenset(
    {
        *("pytest", "unittest", "node --test", "Jest", "Bun", "deno bench", "JavaScript tools", "Bazel"),
        *("coding agents", "formatters and linters", "go test"),
    }
)


def looks_through_folders(tool: str) -> bool:
    """Whether a tool that is started for the whole project finds such files in the folders below."""
    return tool in _LOOKING


def tool_that_runs(path: str) -> str | None:
    """The tool that runs a file by itself, by its path from where people work; None where none does."""
    *folders, name = path.casefold().split("/")
    for tool, folder, begin, end in _PATTERNS:
        if end is None:
            is_called_so = name == begin
        else:
            is_called_so = name.startswith(begin) and name.removeprefix(begin).endswith(end)
        if is_called_so and (not folder or folder in folders):
            return tool
    return None


def _patterns() -> Iterator[tuple[str, str, str, str | None]]:
    """(tool, folder, how the file's name begins and ends); without a star, the begin is all of it."""
    for tool, patterns in RUN_BY.items():
        for pattern in map(str.casefold, patterns):
            folder, _, file = pattern.rpartition("/")
            begin, star, end = file.partition("*")
            yield tool, folder, begin, end if star else None


_PATTERNS = tuple(_patterns())


def first_run_by_tool(paths: Iterable[str]) -> tuple[str, str] | None:
    """The first of these files that a tool runs by itself, and the tool."""
    for path in paths:
        tool = tool_that_runs(path)
        if tool is not None:
            return path, tool
    return None
