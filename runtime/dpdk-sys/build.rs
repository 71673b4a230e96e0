//! Finds libdpdk and compiles the shim, where both are asked for and there.
//!
//! It promises never to fail for want of libdpdk, unless `CORELANE_REQUIRE_DPDK` is set: the crate is then empty, and
//! a warning names the package. Only the libraries that the shim calls are linked.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(dpdk_found)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim.c");
    println!("cargo:rerun-if-env-changed=CORELANE_REQUIRE_DPDK");
    #[cfg(feature = "dpdk")]
    found::build();
}

#[cfg(feature = "dpdk")]
mod found {
    /// The first release with all that the shim calls.
    const VERSION: &str = "21.11";
    const LIBRARIES: [&str; 8] = [
        "rte_gro",
        "rte_gso",
        "rte_net",
        "rte_mbuf",
        "rte_mempool",
        "rte_ring",
        "rte_eal",
        "rte_ethdev",
    ];

    pub(super) fn build() {
        let probe = pkg_config::Config::new()
            .atleast_version(VERSION)
            .cargo_metadata(false)
            .env_metadata(true)
            .probe("libdpdk");
        match probe {
            Ok(library) => compile(&library),
            Err(error) => absent(&error),
        }
    }

    fn absent(error: &pkg_config::Error) {
        let first = format!(
            "libdpdk {VERSION} or later not found: what needs DPDK is left out. To have it: apt-get install libdpdk-dev"
        );
        if std::env::var_os("CORELANE_REQUIRE_DPDK").is_some() {
            panic!("{first}\n{error}");
        }
        println!("cargo:warning={first}");
    }

    fn compile(library: &pkg_config::Library) {
        let mut shim = cc::Build::new();
        shim.file("shim.c").includes(&library.include_paths).flag("-include").flag("rte_config.h");
        shim.define("ALLOW_EXPERIMENTAL_API", None)
            .flag_if_supported("-Wno-address-of-packed-member");
        // What DPDK's own headers need at least; pkg-config says so too.
        let native = cfg!(feature = "native");
        shim.opt_level(if native { 3 } else { 2 });
        shim.flag(if native { "-march=native" } else { "-march=corei7" });
        shim.warnings(false).compile("corelane_dpdk_shim");
        for path in &library.link_paths {
            println!("cargo:rustc-link-search=native={}", path.display());
        }
        for name in LIBRARIES {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
        println!("cargo:rustc-env=DPDK_SYS_COMPILER={}", compiler(&shim));
        println!("cargo:rustc-cfg=dpdk_found");
    }

    /// The compiler by name and version, as rows of measurements quote it.
    fn compiler(shim: &cc::Build) -> String {
        let output = shim.get_compiler().to_command().arg("-dumpfullversion").output();
        let version =
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let name = if shim.get_compiler().is_like_clang() { "clang" } else { "gcc" };
        format!("{name} {}", version.unwrap_or_default())
    }
}
