//! `prony import`: runs of other notebooks and what others have published, into the notebook.

#[cfg(feature = "audit")]
mod figures;
#[cfg(not(feature = "audit"))]
#[path = "import/figures_absent.rs"]
mod figures;
mod runs;

use crate::CommandEnd;
use crate::args::{self, Import, Places};
use crate::texts;
use miette::Result;

pub fn main(places: &Places, args: &Import) -> Result<CommandEnd> {
    let texts = texts::read(&args.files)?;
    if let Some(runs) = runs::recognise(&texts)? {
        if args.name.is_some() || !args.server.is_empty() {
            return Err(usage!(
                help = "say only the files",
                "--as and --server are for figures, and {} is a run: it keeps its name",
                runs[0].0
            ));
        }
        return runs::main(places, &runs, args);
    }
    let Some(name) = args.name.clone() else {
        let missing = "figures need a name, under which reports find them: say --as NAME";
        let kind = clap::error::ErrorKind::MissingRequiredArgument;
        args::command().error(kind, missing).exit()
    };
    figures::main(places, &texts, &name, args)
}
