//! `prony view`: the notebook as a web page.

use crate::CommandEnd;
use crate::args::{Places, View as Args};
use miette::{IntoDiagnostic, Result, miette};
use prony_view::View;
use std::io::Write;

pub fn main(places: &Places, args: &Args) -> Result<CommandEnd> {
    let notebook = places.notebook_to_read()?;
    let path = notebook.path().to_owned();
    let view = View::new(notebook, args.listen.ip(), args.listen.port())
        .map_err(|error| miette!("{error}"))?;
    // It only reads, so there is nothing to be finished when it ends.
    prony_lab::interrupt::on_signal(|| std::process::exit(0)).into_diagnostic()?;
    eprintln!("showing {}; Ctrl-C ends it", path.display());
    if view.needs_token() {
        eprintln!(
            "others can see it who have this address, with its token; the way is not encrypted"
        );
    }
    println!("{}", view.url());
    std::io::stdout().flush().into_diagnostic()?;
    match view.serve() {
        Ok(never) => match never {},
        Err(error) => Err(miette!("{error}")),
    }
}
