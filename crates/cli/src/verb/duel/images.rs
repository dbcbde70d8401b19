//! Sides that are container images.

use crate::args::Duel;
use miette::{Result, miette};
use prony_lab::container::{Engine, Image, Listens};
use prony_lab::side::{Side, What};
use std::path::Path;

/// Characters of an image's digest in names, as the engines' own lists have them.
const SHORT: usize = 12;

/// A server in each image: the command line if there is one, else what the image says.
pub fn images(args: &Duel) -> Result<Vec<Side>> {
    let line = match args.sides.as_slice() {
        [] => "",
        [line] => line,
        [_, other, ..] => {
            return Err(usage!(
                help = "prony duel --image shop:1 --image shop:2 'serve --port {port}'; quote the command line",
                "with --image there is one command line at most, which is run in each image; {other:?} is a second one"
            ));
        }
    };
    let engine = Engine::find(args.container_engine.as_deref()).map_err(|why| {
        miette!(
            help =
                "install podman or Docker, and see that `podman ps` or `docker ps` works for you",
            "{why}"
        )
    })?;
    // All are looked up before anything is started.
    let found: Vec<Image> = args
        .image
        .iter()
        .map(|name| {
            engine.image(name).map_err(|why| {
                let program = engine.program();
                miette!(
                    help = format!(
                        "`{program} images` lists those that are here, `{program} pull` fetches one"
                    ),
                    "there is no image {name:?} here: {why}"
                )
            })
        })
        .collect::<Result<_>>()?;
    let listens = args.image_port.map_or(Listens::WhereTold, Listens::On);
    found
        .iter()
        .map(|image| {
            let run = engine.run(&image.name, line, listens, &[]);
            let short = &image.id[..image.id.len().min(SHORT)];
            eprintln!("{}: {short}", image.name);
            let mut side = Side::of_command(&image.name, &run, Path::new("/"))
                .map_err(|error| miette!("{error}"))?;
            if let What::Started { built, .. } = &mut side.what {
                built.version = format!("image {}", image.id);
                built.container = Some(engine.container(run));
            }
            Ok(side)
        })
        .collect()
}
