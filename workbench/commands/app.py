"""`workbench app`: the web app, and who may use it."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.commands.options import FOLDER, load_source_graph, report_errors

TOKEN_VARIABLE = "DALI_WORKBENCH_TOKEN"


@click.command("app")
@FOLDER
@click.option("--graph", metavar="RECIPE|GRAPH.json", help="Open it at the start.")
@click.option("--port", type=click.IntRange(1, 65535), default=5006, show_default=True)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 is all."
)
@click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    show_envvar=True,
    help="What a visitor must know, at least 16 characters; made anew at each start where none is "
    "given. Others on this machine can read arguments, and not the variable.",
)
@click.option("--no-token", is_flag=True, help="Ask nobody: whoever reaches the port is in.")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME[:PORT]",
    help="A name by which browsers reach the app, such as a proxy's. May be repeated.",
)
@click.option("--prefix", default="", help="What every path begins with, for example /dali.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder below which pages may open and save, in the place of the working folder and, on "
    "127.0.0.1, the home folder. Give it once for each; the data folder always is one.",
)
@click.option(
    "--max-sessions",
    type=click.IntRange(1, 10_000),
    default=24,
    show_default=True,
    help="Pages that may be open at a time.",
)
@click.option(
    "--memory",
    type=click.FloatRange(0.5),
    metavar="GIB",
    help="Host memory that the workers of all pages may take together; default: half of it.",
)
@click.option("--no-browser", is_flag=True, help="Print the link only.")
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
    no_browser: bool,
) -> None:
    """Serve the workbench as a web app to who has the link that is printed.

    Example:  workbench app --data photos --port 5007
    """
    from workbench.engine.resources.memory_budget import shared_budget
    from workbench.ui.access import AccessPolicy
    from workbench.ui.state.graph_argument import to_document
    from workbench.ui.web import serve

    if token is not None and len(token) < 16 and not no_token:
        raise click.BadParameter(
            f"it has {len(token)} characters. Give at least 16, or --no-token.",
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
        click.echo(f"warning: whoever reaches port {port} of {host} is in: --no-token", err=True)
    opened = None
    if graph:
        checked = load_source_graph(graph)
        opened = to_document(Path(graph) if Path(graph).is_file() else graph).with_graph(checked)
    if memory is not None:
        shared_budget().host = int(memory * 2**30)
    serve(data, opened, port, access, roots, not no_browser, max_sessions)
