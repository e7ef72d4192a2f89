/**
 * The Debian package of an archive: its files in /usr/lib/svc, the command /usr/bin/svc, a unit for systemd, a user, and
 * /etc/svc/env. The format is an `ar` archive of two compressed tars (deb(5)), which needs no program of Debian's.
 */
import { readFile, rm, stat, writeFile } from "node:fs/promises"
import { createReadStream, createWriteStream } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { type TarSource } from "modern-tar/fs"
import { version } from "../../src/domain/Version.ts"
import { type Archive } from "./archive.ts"
import { packZstd, root, sizeOf } from "./files.ts"
import { manifestOfTree } from "./package.ts"

const architectures: Readonly<Record<string, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" }

const files = join(root, "deploy/debian")

/** A member of an `ar` archive begins with these 60 bytes, and has an even length. */
const memberHeader = (name: string, time: Date, size: number) =>
  [
    name.padEnd(16),
    String(Math.floor(time.getTime() / 1000)).padEnd(12),
    "0".padEnd(6),
    "0".padEnd(6),
    "100644".padEnd(8),
    String(size).padEnd(10),
    "`\n"
  ].join("")

/** The directories that contain the targets: dpkg creates only those that the archive has. */
const parentsOf = (sources: ReadonlyArray<TarSource>): ReadonlyArray<TarSource> => {
  const paths = sources.flatMap(({ target }) => {
    const names = target.split("/").slice(0, -1)
    return names.map((_, n) => `${names.slice(0, n + 1).join("/")}/`)
  })
  const whole = new Set(sources.map(({ target }) => `${target}/`))
  const missing = [...new Set(paths)].filter((path) => !whole.has(path)).toSorted()
  return missing.map((target) => ({ type: "content", content: null, target, mode: 0o755 }))
}

/** Makes `svc_<version>_<architecture>.deb` under `out`. */
export const makeDeb = async (out: string, archive: Archive, level: number, time: Date): Promise<string> => {
  const platform = archive.name.slice(`svc-${version}-`.length)
  const architecture = architectures[platform]
  if (architecture === undefined) throw new Error(`No deb for ${platform}`)
  const { bytes } = await sizeOf(archive.directory)
  const { description } = await manifestOfTree()
  const template = await readFile(join(files, "control"), "utf8")
  // A pre-release comes before its release.
  const values = { version: version.replace("-", "~"), architecture, kilobytes: Math.ceil(bytes / 1024), description }
  const control = template.replaceAll(/\$\{(\w+)\}/g, (_, name) => String(values[name as keyof typeof values]))

  const text = (target: string, content: string, mode = 0o644): TarSource => ({
    type: "content",
    content,
    target,
    mode
  })
  const file = (target: string, source: string, mode = 0o644): TarSource => ({ type: "file", source, target, mode })
  const scripts = ["postinst", "prerm", "postrm"].map((name) => file(`./${name}`, join(files, name), 0o755))
  const members = [
    ["control.tar.zst", [text("./control", control), text("./conffiles", "/etc/svc/env\n"), ...scripts]],
    [
      "data.tar.zst",
      [
        { type: "directory", source: archive.directory, target: "./usr/lib/svc" },
        file("./usr/bin/svc", join(files, "svc"), 0o755),
        file("./usr/lib/systemd/system/svc.service", join(root, "deploy/systemd/svc.service")),
        file("./etc/svc/env", join(files, "env"), 0o600),
        file("./usr/share/doc/svc/copyright", join(archive.directory, "licenses.txt")),
        file("./usr/share/doc/svc/NOTICE", join(archive.directory, "NOTICE"))
      ]
    ]
  ] as const satisfies ReadonlyArray<readonly [string, ReadonlyArray<TarSource>]>

  const deb = join(out, `svc_${values.version}_${architecture}.deb`)
  await writeFile(deb, `!<arch>\n${memberHeader("debian-binary", time, 4)}2.0\n`)
  for (const [name, sources] of members) {
    const packed = `${deb}.${name}`
    await packZstd([...parentsOf(sources), ...sources], packed, level, time)
    const { size } = await stat(packed)
    await writeFile(deb, memberHeader(name, time, size), { flag: "a" })
    await pipeline(createReadStream(packed), createWriteStream(deb, { flags: "a" }))
    if (size % 2 === 1) await writeFile(deb, "\n", { flag: "a" })
    await rm(packed)
  }
  return deb
}
