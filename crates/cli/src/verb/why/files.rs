//! The files that the anatomy of a request is written to.

use miette::{Result, miette};
use prony_verdict::why::Anatomy;
use std::path::Path;

/// Writes those that were asked for: a page with flame graphs, and a folder with the stacks of each server.
pub fn write(anatomy: &Anatomy, page: Option<&Path>, folded: Option<&Path>) -> Result<()> {
    if let Some(path) = page {
        crate::out::write_file(path, prony_pages::why::page(anatomy))?;
        eprintln!("the flame graphs are in {}", path.display());
    }
    if let Some(folder) = folded {
        std::fs::create_dir_all(folder)
            .map_err(|error| miette!("{} cannot be made: {error}", folder.display()))?;
        for side in &anatomy.sides {
            // A command line such as `./server {port}` makes no hidden file.
            let name = side.name.trim_start_matches(['.', '/']);
            let name = name.replace(['/', ' '], "_");
            let path = folder.join(format!("{name}.folded"));
            crate::out::write_file(&path, prony_pages::why::folded(&side.stacks))?;
            if !side.waiting.is_empty() {
                let path = folder.join(format!("{name}.waits.folded"));
                crate::out::write_file(&path, prony_pages::why::folded(&side.waiting))?;
            }
        }
        eprintln!("the stacks are in {}", folder.display());
    }
    Ok(())
}
