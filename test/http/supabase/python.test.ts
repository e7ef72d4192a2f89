import { execFile } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { serveInProcess } from "../../support/inProcess.ts"

/** Where `.ci/run` installs test/support/supabase/requirements.txt. In CI the test fails without. */
const packages = process.env["SVC_TEST_PYTHON"]

it.skipIf(packages === undefined && process.env["CI"] === undefined)(
  "supabase-py works on accounts, rows, files, functions and channels",
  async () => {
    assert.isDefined(packages, "SVC_TEST_PYTHON names no directory with supabase-py")
    const functions = createServer((request, response) => {
      response.setHeader("content-type", "application/json")
      request.pipe(response)
    })
    functions.listen(0, "127.0.0.1")
    await once(functions, "listening")
    await using _ = { [Symbol.asyncDispose]: async () => void functions.close() }
    const { port } = functions.address() as AddressInfo
    await using service = await serveInProcess({
      SVC_SUPABASE: "true",
      SVC_FUNCTIONS_URL: `http://127.0.0.1:${port}`
    })
    const mine = "(storage.foldername(name))[1] = auth.uid()::text"
    for (const text of [
      "create table py_todos (id int primary key, owner uuid default auth.uid(), title text not null default '')",
      "alter table py_todos enable row level security",
      "create policy own on py_todos to authenticated using (owner = auth.uid()) with check (owner = auth.uid())",
      "alter publication supabase_realtime add table py_todos",
      "create function py_add(a int, b int) returns int language sql as 'select a + b'",
      "insert into storage.buckets (id, name) values ('py', 'py')",
      `create policy own on storage.objects to authenticated using (${mine}) with check (${mine})`
    ]) {
      await sql(service, text)
    }
    const given = { url: service.url, anon: service.anon }
    const script = join(import.meta.dirname, "../../support/supabase/client.py")
    const { stdout } = await promisify(execFile)("python3", [script], {
      env: { PATH: process.env["PATH"], PYTHONPATH: packages, SVC_TEST_CLIENT: JSON.stringify(given) },
      timeout: 100_000
    })
    const { user, ...got } = JSON.parse(stdout) as { readonly user: string }
    const row = (id: number, title: string) => ({ id, owner: user, title })
    assert.deepStrictEqual(got as object, {
      wrong: "invalid_credentials",
      renewed: true,
      name: "Anna",
      known: "ann@example.com",
      inserted: [row(1, "a"), row(2, "b")],
      updated: [row(2, "c")],
      selected: [[{ title: "c" }], 2],
      hidden: [],
      rpc: 5,
      refused: "23505",
      downloaded: "hello",
      listed: ["a.txt"],
      signed: true,
      unseen: "not_found",
      removed: [`${user}/notes/a.txt`],
      function: { name: "Ann" },
      changes: [
        ["INSERT", row(3, "live"), null],
        ["DELETE", null, { id: 3 }]
      ],
      message: { text: "Grüße" },
      present: ["Ann"]
    })
    assert.strictEqual((await ask(service, "GET /rest/v1/py_todos", { key: service.anon })).status, 200)
  },
  120_000
)
