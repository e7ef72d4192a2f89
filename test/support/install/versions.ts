import { execFile, execFileSync } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { version } from "../../../src/services/Status.ts"
import { root } from "../service.ts"

const run = promisify(execFile)

/** The commit since which a start accepts the migrations of newer versions of its minor version. */
const firstOfRule = "1cb798aa524630393b536c64b8e7a903a56665ab"

/** A version of the service that can be started from its sources. */
export interface SourceVersion extends AsyncDisposable {
  /** What it is, for the output of the test. */
  readonly name: string
  readonly entry: string
}

const minorOf = (text: string) => text.split(".", 2).join(".")

const has = (commit: string) => {
  try {
    execFileSync("git", ["merge-base", "--is-ancestor", commit, "HEAD"], { cwd: root, stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Everything of this checkout but `own`, by links. */
const linked = async (own: ReadonlyArray<string>) => {
  const path = await mkdtemp(join(tmpdir(), "svc-version-"))
  for (const name of await readdir(root)) {
    if (![".git", ...own].includes(name)) await symlink(join(root, name), join(path, name))
  }
  return path
}

const versionAt = (name: string, path: string): SourceVersion => ({
  name,
  entry: join(path, "src/main.ts"),
  [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true })
})

/**
 * The version to upgrade from: the newest release of this minor version before this commit; while there is none, the first
 * commit that follows the rule of upgrades; in a checkout without history, this source. Runs with this checkout's packages,
 * or with its own if it has others.
 */
export const previousVersion = async (): Promise<SourceVersion> => {
  const described = ["describe", "--tags", "--abbrev=0", "--match", `v${minorOf(version)}.*`, "HEAD^"]
  const tag = await run("git", described, { cwd: root }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined
  )
  const commit = tag ?? (has(firstOfRule) ? firstOfRule : undefined)
  if (commit === undefined) return versionAt("this source (the checkout has no history)", await linked([]))
  const path = await linked(["src", "package.json", "package-lock.json"])
  const names = ["src", "package.json", "package-lock.json"]
  const archive = join(path, "version.tar")
  await run("git", ["archive", `--output=${archive}`, commit, ...names], { cwd: root })
  await run("tar", ["--extract", `--file=${archive}`, `--directory=${path}`])
  const [own, ours] = await Promise.all([path, root].map((at) => readFile(join(at, "package-lock.json"), "utf8")))
  if (own !== ours) {
    await rm(join(path, "node_modules"))
    await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--prefer-offline"], { cwd: path })
  }
  return versionAt(tag ?? `commit ${commit.slice(0, 8)} (there is no release yet)`, path)
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
  await edit("src/services/Status.ts", `version = "${version}"`, `version = "${next}"`)
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
