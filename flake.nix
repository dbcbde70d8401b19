{
  description = "hyperfine for servers: starts network servers, verifies, loads and compares them";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = of: nixpkgs.lib.genAttrs systems (system: of nixpkgs.legacyPackages.${system});
      version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
    in
    {
      packages = each (pkgs: rec {
        default = prony;
        prony = pkgs.rustPlatform.buildRustPackage {
          pname = "prony";
          inherit version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [ "--package" "prony" ];
          # They start servers and load them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles pkgs.gnumake ];
          postInstall = ''
            $out/bin/prony man --output man
            installManPage man/*
            for shell in bash zsh fish; do
              $out/bin/prony completions $shell > prony.$shell
            done
            installShellCompletion --cmd prony --bash prony.bash --zsh prony.zsh --fish prony.fish
          '';
          meta = {
            description = "Load generator and benchmark lab for network servers";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "prony";
            platforms = systems;
          };
        };
      });
    };
}
