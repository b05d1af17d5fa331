//! A Chromium without a window that takes a picture of a page once it is loaded.

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// After this long nothing more is to be expected.
const PATIENCE: Duration = Duration::from_secs(180);

/// Its user's data, which are gone afterwards, and the process.
struct Browser {
    process: Child,
    data: std::path::PathBuf,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It has ended, or is to.
        self.process.kill().ok();
        self.process.wait().ok();
        std::fs::remove_dir_all(&self.data).ok();
    }
}

/// Opens a page with WebGPU in software, which is what every machine has, and waits until its picture is taken.
///
/// # Errors
/// The browser does not start, fails, or takes too long; with what it says.
pub fn photograph(chromium: &Path, address: &str, picture: &Path) -> Result<(), Box<dyn Error>> {
    let data = std::env::temp_dir().join(format!("array-dsl-web-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    let log = data.join("log");
    let mut command = Command::new(chromium);
    command.args([
        "--headless",
        // Root has no sandbox, and the page is ours.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--enable-unsafe-webgpu",
        "--use-webgpu-adapter=swiftshader",
        "--no-first-run",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--enable-logging=stderr",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--window-size=960,760",
    ]);
    command.arg(format!("--user-data-dir={}", data.display()));
    command.arg(format!("--screenshot={}", picture.display())).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(std::fs::File::create(&log)?);
    let process = command.spawn().map_err(|e| format!("{}: {e}", chromium.display()))?;
    let mut browser = Browser { process, data };

    let said = || {
        let text = std::fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let console: Vec<&str> = text.lines().filter(|line| line.contains("CONSOLE")).collect();
        console.join("\n")
    };
    let start = Instant::now();
    loop {
        match browser.process.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("the browser ended with {status}\n{}", said()).into()),
            None if start.elapsed() > PATIENCE => {
                return Err(format!("the page has not come to an end in {PATIENCE:?}\n{}", said()).into());
            }
            None => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}
