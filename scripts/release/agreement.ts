/**
 * What a release must agree on. `releases.json` records the releases: which commit a version is, its last migration and the
 * format of its index of objects. Tests read it too (test/support/install, test/pg/install).
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { version } from "../../src/domain/Version.ts"
import { migrations } from "../../src/layers/install/OwnMigrations.ts"
import { indexFormat } from "../../src/layers/storage/endpoint/store/worker/Format.ts"

const root = resolve(import.meta.dirname, "../..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

export interface Release {
  readonly version: string
  /** ISO 8601. */
  readonly date: string
  /** What the release was built from; the entry itself is of a later commit. */
  readonly commit: string
  /** The number of its last migration of schema svc. */
  readonly migration: number
  readonly index_format: number
}

/** From the oldest to the newest. */
export const releases = JSON.parse(read("releases.json")) as ReadonlyArray<Release>

/** What this tree says about its version. */
export interface ReleaseFacts {
  readonly version: string
  /** The version by the file that names it. */
  readonly named: Readonly<Record<string, string | undefined>>
  /** The newest heading of the CHANGELOG. */
  readonly changelog: { readonly version: string; readonly date: string } | undefined
  readonly releases: ReadonlyArray<Release>
  readonly migrations: ReadonlyArray<number>
  readonly indexFormat: number
  /** Undefined outside of a git checkout. */
  readonly commit: string | undefined
  /** Files that differ from the commit. */
  readonly changed: ReadonlyArray<string>
}

const numbersOf = (text: string) => (text.split("-", 1)[0] ?? "").split(".").map(Number)
const isPreRelease = (text: string) => text.includes("-")
const minorOf = (text: string) => text.split(".", 2).join(".")

/** Whether a version follows another: a pre-release comes before the release of the same number. */
export const isLater = (one: string, other: string): boolean => {
  const [a, b] = [numbersOf(one), numbersOf(other)]
  const differing = a.findIndex((part, n) => part !== b[n])
  if (differing >= 0) return (a[differing] ?? 0) > (b[differing] ?? 0)
  if (isPreRelease(one) !== isPreRelease(other)) return isPreRelease(other)
  return one.localeCompare(other, "en", { numeric: true }) > 0
}

/** What must hold in every commit. */
export const contradictionsOf = (facts: ReleaseFacts): ReadonlyArray<string> => {
  const last = facts.releases.at(-1)
  const sameMinor = facts.releases.filter(
    (one) => !isPreRelease(one.version) && minorOf(one.version) === minorOf(facts.version)
  )
  const lastMigration = Math.max(...facts.migrations)
  return [
    ...Object.entries(facts.named).flatMap(([file, named]) =>
      named === facts.version
        ? []
        : [`${file} names version ${named ?? "none"}, but src/domain/Version.ts ${facts.version}`]
    ),
    ...(facts.changelog?.version === facts.version
      ? []
      : [`The first heading of CHANGELOG.md is version ${facts.changelog?.version ?? "none"}, not ${facts.version}`]),
    ...facts.releases.flatMap(({ version }, n) => {
      const before = facts.releases[n - 1]
      return before === undefined || isLater(version, before.version)
        ? []
        : [`releases.json lists ${version} after ${before.version}: the newest is the last`]
    }),
    ...(last !== undefined && isLater(last.version, facts.version)
      ? [`releases.json has ${last.version}, which is later than version ${facts.version} of this source`]
      : []),
    ...(last !== undefined && lastMigration < last.migration
      ? [`The last migration is ${lastMigration}, but ${last.version} was released with ${last.migration}`]
      : []),
    ...(last !== undefined && facts.indexFormat < last.index_format
      ? [`The format of the index is ${facts.indexFormat}, but ${last.version} was released with ${last.index_format}`]
      : []),
    ...sameMinor.flatMap((one) =>
      one.index_format === facts.indexFormat
        ? []
        : [
            `The index of objects has format ${facts.indexFormat}, and ${one.version} has ${one.index_format}: another format needs another minor version, because versions of one share their data`
          ]
    )
  ]
}

/** What else must hold for a release. */
export const obstaclesOf = (facts: ReleaseFacts): ReadonlyArray<string> => {
  const recorded = facts.releases.find(({ version }) => version === facts.version)
  return [
    ...contradictionsOf(facts),
    ...(recorded === undefined
      ? []
      : [
          `Version ${facts.version} is released (commit ${recorded.commit.slice(0, 12)}): raise the version, or build that commit`
        ]),
    ...(facts.changelog === undefined || /^\d{4}-\d{2}-\d{2}$/.test(facts.changelog.date)
      ? []
      : [
          `CHANGELOG.md dates version ${facts.changelog.version} "${facts.changelog.date}": write the date of the release`
        ]),
    ...(facts.commit === undefined ? ["This is no git checkout, so the release has no commit"] : []),
    ...(facts.changed.length === 0 ? [] : [`Not committed: ${facts.changed.slice(0, 5).join(", ")}`])
  ]
}

const git = (...args: ReadonlyArray<string>) => {
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
  } catch {
    return undefined
  }
}

const versionOf = (text: string) => (JSON.parse(text) as { readonly version?: string }).version

/** The facts of this tree. */
export const releaseFacts = (): ReleaseFacts => {
  const [, heading = "", date = ""] = /^## \[([^\]]+)\](?: - (.+))?$/m.exec(read("CHANGELOG.md")) ?? []
  return {
    version,
    named: {
      "package.json": versionOf(read("package.json")),
      "package-lock.json": versionOf(read("package-lock.json")),
      "deploy/helm/svc/Chart.yaml": /^appVersion: (.+)$/m.exec(read("deploy/helm/svc/Chart.yaml"))?.[1],
      "deploy/kubernetes/service.yaml": /image: \S+:(\S+)$/m.exec(read("deploy/kubernetes/service.yaml"))?.[1]
    },
    changelog: heading === "" ? undefined : { version: heading, date },
    releases,
    migrations: Object.keys(migrations).map((key) => Number.parseInt(key, 10)),
    indexFormat,
    commit: git("rev-parse", "HEAD")?.trim(),
    changed: (git("status", "--porcelain") ?? "").split("\n").flatMap((line) => (line === "" ? [] : [line.slice(3)]))
  }
}

/** Adds this version to `releases.json`, as the commit that it was built from. */
export const recordRelease = (facts: ReleaseFacts): Release => {
  const release: Release = {
    version: facts.version,
    date: facts.changelog?.date ?? "",
    commit: facts.commit ?? "",
    migration: Math.max(...facts.migrations),
    index_format: facts.indexFormat
  }
  writeFileSync(join(root, "releases.json"), `${JSON.stringify([...facts.releases, release], null, 2)}\n`)
  return release
}
