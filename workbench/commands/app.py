"""``workbench app``: serve the web app, with its access options."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.commands.options import FOLDER, load_source_graph, report_errors

TOKEN_VARIABLE = "DALI_WORKBENCH_TOKEN"


@click.command("app")
@FOLDER
@click.option("--graph", metavar="RECIPE|GRAPH.json", help="Graph to open at the start.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5006, show_default=True, help="Port to use."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 is all addresses.",
)
@click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    show_envvar=True,
    help="Access token, at least 16 characters. Default: a new random token at each start. Use "
    "the environment variable on shared machines: other users can read command-line arguments.",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Disable authentication: anyone who can reach the port has access.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME[:PORT]",
    help="Additional host name that browsers use for the app, for example of a proxy. Can be "
    "repeated.",
)
@click.option("--prefix", default="", help="Prefix of every URL path, for example /dali.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder in which pages may open and save files. Can be repeated. Default: the working "
    "folder and, on 127.0.0.1, the home folder. The data folder is always allowed.",
)
@click.option(
    "--max-sessions",
    type=click.IntRange(1, 10_000),
    default=24,
    show_default=True,
    help="Maximum number of pages open at the same time.",
)
@click.option(
    "--memory",
    type=click.FloatRange(0.5),
    metavar="GIB",
    help="Host memory limit of the workers of all pages together. Default: half of the memory.",
)
@click.option(
    "--results",
    "files",
    multiple=True,
    metavar="FILE.json",
    type=click.Path(exists=True, dir_okay=False),
    help="Saved result of watch, audit, diff or pack that each page lists. Can be repeated.",
)
@click.option("--no-browser", is_flag=True, help="Print the link without opening a browser.")
@report_errors
def app_command(
    data: str,
    graph: str | None,
    port: int,
    host: str,
    token: str | None,
    no_token: bool,
    allow_host: tuple[str, ...],
    prefix: str,
    roots: tuple[Path, ...],
    max_sessions: int,
    memory: float | None,
    files: tuple[str, ...],
    no_browser: bool,
) -> None:
    """Serve the web app to anyone who has the printed link.

    Example:  workbench app --data photos --port 5007
    """
    from workbench.engine.resources.memory_budget import shared_budget
    from workbench.results import load_result
    from workbench.ui.access import AccessPolicy
    from workbench.ui.state.graph_argument import to_document
    from workbench.ui.web import serve

    if token is not None and len(token) < 16 and not no_token:
        raise click.BadParameter(
            f"it has {len(token)} characters. Use at least 16, or --no-token.",
            param_hint="'--token'",
        )
    given = "" if no_token else token
    access = AccessPolicy(
        host=host,
        allow_hosts=allow_host,
        prefix=prefix,
        lasting_token=given is not None,
        **({} if given is None else {"token": given}),
    )
    if no_token and not access.loopback:
        click.echo(
            f"warning: without a token, anyone who can reach port {port} of {host} has access",
            err=True,
        )
    opened = None
    if graph:
        checked = load_source_graph(graph)
        opened = to_document(Path(graph) if Path(graph).is_file() else graph).with_graph(checked)
    results = [load_result(each) for each in files]
    if memory is not None:
        shared_budget().host = int(memory * 2**30)
    serve(data, opened, port, access, roots, not no_browser, max_sessions, results)
