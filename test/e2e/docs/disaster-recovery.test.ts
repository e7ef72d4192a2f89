import { PutObjectCommand, GetObjectCommand, S3Client } from "@aws-sdk/client-s3"
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it, vi } from "vitest"
import { freePort } from "../../../bench/support/freePort.ts"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { followGuide } from "../../support/docs/guide.ts"
import { readGuide } from "../../support/docs/readme.ts"
import { archivedUntilNow } from "../../support/recovery/calls.ts"
import { root, startService, testSettings, until } from "../../support/service.ts"

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

const variables = ["PORT", "FLAGS_PORT", "FLAGS_HTTP_PORT", "FLAGS_SYNC_PORT", "S3_EMBEDDED_PORT"]

/** The reader's machine: a checkout with a `.env`, and free ports. */
interface Machine {
  readonly directory: string
  readonly dataDir: string
  readonly url: string
  readonly env: Readonly<Record<string, string>>
}

const made: Array<string> = []
let backup: string

/** A checkout whose npm scripts have these settings. */
const checkout = async (env: Readonly<Record<string, string>>) => {
  const directory = await makeDataDir()
  made.push(directory)
  for (const name of await readdir(root)) {
    // followGuide links node_modules; .git and .env are not the reader's.
    if (!name.startsWith(".") && name !== "node_modules") await symlink(join(root, name), join(directory, name))
  }
  const lines = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)}\n`)
  await writeFile(join(directory, ".env"), lines.join(""))
  return { directory, dataDir: join(directory, ".svc"), url: `http://127.0.0.1:${env["PORT"]}`, env }
}

const machine = async (archives: boolean): Promise<Machine> => {
  const ports: Record<string, string> = {}
  for (const name of variables) ports[name] = String(await freePort())
  const archive = archives ? { SVC_PITR: "true", SVC_PITR_DIR: join(backup, "archive") } : {}
  return checkout({ ...testSettings, SVC_JWT_SECRET: "", ...ports, ...archive })
}

/** Another terminal of a machine. */
const machineLike = async ({ dataDir, env }: Machine) => checkout({ ...env, SVC_DATA_DIR: dataDir })

afterAll(async () => {
  for (const directory of made) {
    await removeDataDir(join(directory, ".svc"))
    await removeDataDir(directory)
  }
})

let page: string
/** The two blocks of docs/moving.md: of the old machine and of the new one. */
let moving: ReadonlyArray<string>
let serviceRole: string
let recoveryKey: string

/** The commands of a section, as the page has them. */
const section = (title: string) => {
  const text = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`))
  if (text === undefined) throw new Error(`docs/disaster-recovery.md has no section ${title}`)
  return text
}

const hereOf =
  ({ url }: Machine, kept = backup) =>
  (text: string) =>
    text
      .replaceAll("localhost:3000", new URL(url).host)
      .replaceAll("/backup/", `${kept}/`)
      .replaceAll("the recovery key", recoveryKey)

const storeOf = async ({ dataDir, env }: Pick<Machine, "dataDir" | "env">) => {
  const secrets = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<string, string>
  const credentials = { accessKeyId: secrets["s3_access_key"] ?? "", secretAccessKey: secrets["s3_secret_key"] ?? "" }
  const endpoint = `http://127.0.0.1:${env["S3_EMBEDDED_PORT"]}`
  return new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials })
}

const photo = { Bucket: "photos", Key: "cat.jpg" }

beforeAll(async () => {
  backup = await makeDataDir()
  made.push(backup)
  page = await readGuide("docs/disaster-recovery.md")
  const lost = await machine(true)
  await mkdir(lost.dataDir, { mode: 0o711 })
  await using service = await startService({ dataDir: lost.dataDir, env: lost.env })
  serviceRole = service.service_role
  await sql(service, "create table public.notes (id int primary key, text text)")
  await sql(service, "insert into public.notes values (1, 'kept')")
  const bucket = { key: serviceRole, body: { name: photo.Bucket } }
  assert.isBelow((await ask(service, "POST /api/storage/buckets", bucket)).status, 300)
  await (await storeOf(lost)).send(new PutObjectCommand({ ...photo, Body: "a cat" }))
  const connection = { name: "other", connection_url: "postgres://me:pw@db.example.com/app" }
  const saved = await ask(service, "POST /api/connections", { key: serviceRole, body: connection })
  assert.strictEqual(saved.status, 201, saved.text)
  await until(
    () => ask(service, "GET /api/backups/pitr", { key: serviceRole }),
    ({ json }) => (json as { readonly latest: string | null }).latest !== null,
    120_000
  )
  const after = async (command: string, answer: string) => {
    if (command.endsWith("pitr/key")) recoveryKey = (JSON.parse(answer) as { recovery_key: string }).recovery_key
  }
  await followGuide({ guide: section("Keep elsewhere"), directory: lost.directory, here: hereOf(lost), after })
  moving = [...(await readGuide("docs/moving.md")).matchAll(/```console\n[^]*?```/g)].map(([block]) => block)
  assert.strictEqual(moving.length, 2)
  const elsewhere = join(backup, "moving")
  await mkdir(elsewhere)
  const exporter = await machineLike(lost)
  await followGuide({ guide: moving[0] ?? "", directory: exporter.directory, here: hereOf(exporter, elsewhere) })
  await archivedUntilNow(service)
})

/** Follows a section on a new machine, whose service then has what is kept. */
const recovered = async (
  title: string,
  has: { readonly objects: boolean; readonly secrets: boolean },
  guide = section(title),
  kept = backup
) => {
  const at = await machine(title === "From the archive")
  const check = async (command: string) => {
    if (!command.endsWith("/readyz")) return
    const service = { url: at.url, service_role: serviceRole }
    assert.deepStrictEqual(await sql(service, "select * from public.notes"), [{ id: 1, text: "kept" }])
    const read = await (await storeOf(at)).send(new GetObjectCommand(photo)).then(
      ({ Body }) => Body?.transformToString(),
      () => undefined
    )
    assert.strictEqual(read, has.objects ? "a cat" : undefined)
    const [connection] = (await ask(service, "GET /api/connections", { key: serviceRole })).json as ReadonlyArray<{
      readonly error: string | null
    }>
    assert.strictEqual(connection?.error === null, has.secrets, JSON.stringify(connection))
    seen = true
  }
  let seen = false
  try {
    await followGuide({ guide, directory: at.directory, here: hereOf(at, kept), after: check })
  } finally {
    await until(
      () => stat(join(at.dataDir, "postgres/postmaster.pid")).catch(() => undefined),
      (found) => found === undefined,
      60_000
    )
  }
  assert.isTrue(seen, "the section starts the service")
}

it("a lost installation comes back from an export, with its objects", () =>
  recovered("From an export", { objects: true, secrets: true }))

it("a lost installation comes back from a backup and its secrets", () =>
  recovered("From a backup", { objects: false, secrets: true }))

it("a lost installation comes back from a backup alone, without what the secrets encrypted", () =>
  recovered("From a backup", { objects: false, secrets: false }, section("From a backup").replace(/^\$ cp .*\n/m, "")))

it("a lost installation comes back from the archive and the recovery key", () =>
  recovered("From the archive", { objects: true, secrets: true }))

it("an installation moves as docs/moving.md says", () =>
  recovered("Moving", { objects: true, secrets: true }, moving[1], join(backup, "moving")))
