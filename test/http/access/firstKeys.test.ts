import { assert, it } from "vitest"
import { Client } from "pg"
import { serveInProcess } from "../../support/inProcess.ts"

it("a service that can store no key creates none, and says how to create one", async () => {
  const store = { S3_ENDPOINT: "http://127.0.0.1:1", S3_ACCESS_KEY: "a", S3_SECRET_KEY: "b" }
  await using service = await serveInProcess({ SVC_DATA_DIR: "/dev/null/nowhere", ...store })
  assert.match(service.output(), /No API key was created\. .*\/dev\/null\/nowhere.*svc key service_role/)
  assert.notMatch(service.output(), /svc_[ps]k_/)
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  const { rows } = await client.query("select from svc.api_keys")
  await client.end()
  assert.lengthOf(rows, 0)
})
