/** What the package of the embedded PostgreSQL contains: the server, and the libraries of others that it is linked with. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { type Part } from "./contents.ts"
import { readJson } from "./files.ts"

/** The name of each library's project in postgres-licenses.txt, by the beginning of its file name. */
const projects: ReadonlyArray<readonly [file: RegExp, project: string]> = [
  [/^lib(?:pq|ecpg|pgtypes|pgport|pgcommon|pgfeutils|ecpg_compat)(?:\.|_)/, "PostgreSQL"],
  [/^libicu(?:data|i18n|uc)\./, "icu"],
  [/^lib(?:ssl|crypto)\./, "openssl"],
  [/^libxml2\./, "libxml2"],
  [/^libe?xslt\./, "libxslt"],
  [/^libz\./, "zlib"],
  [/^liblzma\./, "liblzma"],
  [/^lib(?:ossp-)?uuid\./, "ossp-uuid"]
]

/** Versions that the name of the file does not tell, in the packages of Linux. */
const knownVersions: Readonly<Record<string, string>> = { openssl: "1.1.1", zlib: "1.2.11", liblzma: "5.2.2" }

const licenses = async () => {
  const text = await readFile(join(import.meta.dirname, "postgres-licenses.txt"), "utf8")
  return new Map(
    text.split(`\n\n${"-".repeat(72)}\n\n`).map((section) => {
      const [heading = "", ...rest] = section.split("\n")
      const [, name = "", license = ""] = /^(\S+) \((.+)\)$/.exec(heading) ?? []
      return [name, { license, text: rest.join("\n").trim() }] as const
    })
  )
}

/** The parts of the package in a folder. A library whose licence is not known is an error. */
export const postgresParts = async (folder: string): Promise<ReadonlyArray<Part>> => {
  const known = await licenses()
  const { version: packaged } = await readJson<{ readonly version: string }>(folder, "package.json")
  const files = (await readdir(join(folder, "native/lib"))).filter((name) => /\.so(?:\.|$)/.test(name))
  const versions = new Map<string, string>([["PostgreSQL", packaged.split("-", 1)[0] ?? ""]])
  for (const file of files.toSorted()) {
    const project = projects.find(([pattern]) => pattern.test(file))?.[1]
    if (project === undefined) throw new Error(`The licence of ${file} in ${folder} is not known: see postgres.ts`)
    const [, numbered] = /\.so\.(\d+\.\d[\d.]*)$/.exec(file) ?? []
    const version = knownVersions[project] ?? numbered ?? versions.get(project) ?? ""
    if (project !== "PostgreSQL") versions.set(project, version)
  }
  return Array.from(versions, ([name, version]) => {
    const { license = "", text = "" } = known.get(name) ?? {}
    const purl = `pkg:generic/${name.toLowerCase()}${version === "" ? "" : `@${version}`}`
    return { name, version, license, text, purl }
  })
}
