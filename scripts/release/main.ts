/**
 * `npm run release`: makes the artefacts of a release in `release/`: the npm package, and for this platform or those of
 * `--platform` an archive and for Linux a deb, with their checksums. It refuses where version, CHANGELOG, releases.json and
 * migrations disagree; `--snapshot` makes artefacts for trials all the same.
 */
import { mkdir, stat, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { obstaclesOf, recordRelease, releaseFacts } from "./agreement.ts"
import { makeArchive, platforms } from "./archive.ts"
import { makeDeb } from "./deb.ts"
import { execute, npm, root, sha256, sizeOf } from "./files.ts"
import { makePackage } from "./package.ts"

const { values } = parseArgs({
  options: {
    npm: { type: "boolean", default: false },
    archive: { type: "boolean", default: false },
    deb: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    snapshot: { type: "boolean", default: false },
    platform: { type: "string", multiple: true, default: [`${process.platform}-${process.arch}`] },
    level: { type: "string", default: "19" },
    out: { type: "string", default: join(root, "release") }
  }
})

const print = (text: string) => process.stdout.write(`${text}\n`)
const inMb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

const unknown = values.platform.filter((platform) => !(platform in platforms))
const level = Number(values.level)
if (unknown.length > 0 || !Number.isInteger(level) || level < 1 || level > 22) {
  process.stderr.write(`--platform is one of ${Object.keys(platforms).join(", ")}, and --level a number from 1 to 22\n`)
  process.exit(2)
}

const facts = releaseFacts()
const obstacles = obstaclesOf(facts)
for (const obstacle of obstacles) process.stderr.write(`${values.snapshot ? "snapshot: " : ""}${obstacle}\n`)
if (obstacles.length > 0 && !values.snapshot) {
  process.stderr.write("No release of this commit. For artefacts to try: npm run release -- --snapshot\n")
  process.exit(1)
}

/** Of the commit, so that the same commit has the same artefacts. */
const time = new Date(
  await execute("git", ["log", "-1", "--format=%cI"], { cwd: root }).then(
    ({ stdout }) => stdout.trim(),
    () => Date.now()
  )
)

const all = !values.npm && !values.archive && !values.deb && !values.record
if (values.record) {
  const { commit, version } = recordRelease(facts)
  print(`releases.json has version ${version} (commit ${commit}): commit it, and tag that commit v${version}`)
}

if (!values.record || values.npm || values.archive || values.deb) {
  await mkdir(values.out, { recursive: true })
  // What an earlier commit built may still be there. A snapshot takes it as it is.
  for (const script of values.snapshot ? [] : ["build", "build:dashboard"]) await npm(["run", script], root)
  const files: Array<string> = []
  const npmPackage = await makePackage(values.out, time)
  files.push(npmPackage.tarball)
  const { bytes, files: count } = await sizeOf(npmPackage.directory)
  print(`${basename(npmPackage.tarball)}: unpacked ${inMb(bytes)} in ${count} files`)
  for (const platform of all || values.archive || values.deb ? values.platform : []) {
    const archive = await makeArchive(values.out, platform, npmPackage, level, time)
    files.push(archive.file)
    const unpacked = await sizeOf(archive.directory)
    print(`${basename(archive.file)}: unpacked ${inMb(unpacked.bytes)} in ${unpacked.files} files`)
    if (platform.startsWith("linux-") && (all || values.deb))
      files.push(await makeDeb(values.out, archive, level, time))
  }
  const sums = await Promise.all(files.map(async (file) => `${await sha256(file)}  ${basename(file)}\n`))
  await writeFile(join(values.out, "SHA256SUMS"), sums.join(""))
  for (const file of files) print(`${file}: ${inMb((await stat(file)).size)}`)
}
