import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, test } from "vitest"
import { freePort } from "../../../bench/support/freePort.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { root, until } from "../../support/service.ts"
import { isWithout } from "../../support/skips.ts"

const it = test.skipIf(isWithout("deno"))
const example = join(root, "examples/shop")
let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({
    PORT: String(await freePort()),
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    SVC_FUNCTIONS_DIR: join(example, "functions"),
    MIGRATIONS_DIR: join(example, "migrations")
  })
})
afterAll(() => service[Symbol.asyncDispose]())

it("the shop of examples/ makes receipts by webhook and queue, and tidies up by schedule", async () => {
  const readme = await readFile(join(example, "README.md"), "utf8")
  const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, text = ""]) => text)
  assert.lengthOf(blocks, 3)
  const [, setup = "", use = ""] = blocks
  const env = { ...process.env, SVC_URL: service.url, SERVICE_KEY: service.service_role }
  const script = setup.replace(/^export .*\n/, "") + use
  const { stdout } = await promisify(execFile)("timeout", ["60", "bash", "-e", "-c", script], { env, cwd: root })
  assert.include(stdout, "To ann@example.com: thank you for order 1.")

  await sql(service, "insert into orders (email, created_at) values ('bob@example.com', now() - interval '2 days')")
  const key = service.service_role
  const { json } = await ask(service, "GET /api/schedules", { key })
  const tidy = (json as ReadonlyArray<{ id: number; name: string }>).find(({ name }) => name === "tidy orders")
  await ask(service, `POST /api/schedules/${tidy?.id}/run`, { key })
  const runs = await until(
    () => ask(service, `GET /api/schedules/${tidy?.id}/runs`, { key }),
    ({ text }) => text.includes('"succeeded"')
  )
  assert.include(runs.text, String.raw`{\"deleted\":1}`)
  assert.deepStrictEqual(await sql(service, "select email from orders"), [{ email: "ann@example.com" }])
  // A client can call a function, but not in the service's name.
  const reply = await ask(service, "POST /v1/functions/tidy", { key: service.anon, body: {} })
  assert.strictEqual(reply.status, 403)
}, 90_000)
