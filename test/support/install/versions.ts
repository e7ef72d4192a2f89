import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { releases } from "../../../scripts/release/agreement.ts"
import { version } from "../../../src/domain/Version.ts"
import { indexFormat } from "../../../src/layers/storage/endpoint/store/worker/Format.ts"
import { root } from "../service.ts"

const run = promisify(execFile)

/** A version of the service that can be started from its sources. */
export interface SourceVersion extends AsyncDisposable {
  /** What it is, for the output of the test. */
  readonly name: string
  readonly entry: string
  /** Whether it has the index of objects of this source, as all releases of a minor version do. */
  readonly hasSameIndex: boolean
}

const minorOf = (text: string) => text.split(".", 2).join(".")

/** Whether the checkout has the commit, as a clone with all history does. */
const has = (commit: string) =>
  run("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root }).then(
    () => true,
    () => false
  )

/** Everything of this checkout but `own`, by links. */
const linked = async (own: ReadonlyArray<string>) => {
  const path = await mkdtemp(join(tmpdir(), "svc-version-"))
  for (const name of await readdir(root)) {
    if (![".git", ...own].includes(name)) await symlink(join(root, name), join(path, name))
  }
  return path
}

/** The versions of the packages of a lock file, by their paths, without this one. */
const packagesAt = async (path: string) => {
  const lock = JSON.parse(await readFile(join(path, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>
  }
  return Object.entries(lock.packages).flatMap(([name, { dev, version }]) =>
    name === "" || dev === true ? [] : [`${name} ${version ?? ""}`]
  )
}

const versionAt = (name: string, path: string, format = indexFormat): SourceVersion => ({
  name,
  entry: join(path, "src/main.ts"),
  hasSameIndex: format === indexFormat,
  [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true })
})

/**
 * The version to upgrade from: the newest release of this minor version in releases.json; in a checkout without history, this
 * source. Runs with this checkout's packages, or with its own if they are not among these.
 */
export const previousVersion = async (): Promise<SourceVersion> => {
  const release = releases.findLast((one) => minorOf(one.version) === minorOf(version))
  if (release === undefined || !(await has(release.commit)))
    return versionAt("this source (the checkout has no earlier release)", await linked([]))
  const { commit } = release
  const path = await linked(["src", "package.json", "package-lock.json"])
  const names = ["src", "package.json", "package-lock.json"]
  const archive = join(path, "version.tar")
  await run("git", ["archive", `--output=${archive}`, commit, ...names], { cwd: root })
  await run("tar", ["--extract", `--file=${archive}`, `--directory=${path}`])
  const ours = new Set(await packagesAt(root))
  if ((await packagesAt(path)).some((one) => !ours.has(one))) {
    await rm(join(path, "node_modules"))
    await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline"], { cwd: path })
  }
  return versionAt(`${release.version} (commit ${commit.slice(0, 12)})`, path, release.index_format)
}

/** The version to upgrade to: this source with a higher number and one more migration, which adds to tables in use. */
export const nextVersion = async (): Promise<SourceVersion> => {
  const path = await linked(["src"])
  await mkdir(join(path, "src"))
  await cp(join(root, "src"), join(path, "src"), { recursive: true })
  const edit = async (file: string, from: string, to: string) => {
    const text = await readFile(join(path, file), "utf8")
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`)
    await writeFile(join(path, file), text.replace(from, to))
  }
  const next = `${minorOf(version)}.${Number(version.split(".")[2]) + 1}`
  await edit("src/domain/Version.ts", `version = "${version}"`, `version = "${next}"`)
  const added = ["webhooks", "api_keys", "realtime_subscriptions", "flags", "identity_sessions"].map(
    (table) => `"alter table svc.${table} add column next_release text not null default 'new'"`
  )
  await edit(
    "src/layers/install/OwnMigrations.ts",
    "export const migrations = {",
    `import { statements } from "./migrations/statements.ts"\nexport const migrations = {\n  "9999_next_release": statements("create table svc.next_release (id int)", ${added.join(", ")}),`
  )
  return versionAt(`${next}, with one more migration`, path)
}
