import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_MAX_ENVIRONMENTS: "2" } })
})
afterAll(() => service[Symbol.asyncDispose]())

const post = (name: string, slug: string) =>
  ask(service, "POST /api/projects/default/environments", { key: service.service_role, body: { name, slug } })

it("an environment is created with its schema and bucket, changed, replaced as the default, and deleted", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/environments", service))
  await page.getByRole("heading", { name: "No environments" }).waitFor()
  await assertAccessible(page, "no environments")
  await page.getByRole("button", { name: "Create environment" }).click()
  const form = page.getByRole("dialog", { name: "Create an environment" })
  await form.getByLabel("Slug").fill("Dev!")
  await form.getByRole("button", { name: "Create environment" }).click()
  await form.getByText("An environment needs a name").waitFor()
  await form.getByText(/Lower-case letters, digits and hyphens/).waitFor()
  await form.getByLabel("Name").fill("Development")
  await form.getByLabel("Slug").fill("dev")
  await form.getByText("project_dev").waitFor()
  await form.getByLabel("Config").fill('{"region": "eu", "trial": true}')
  await form.getByRole("button", { name: "Create environment" }).click()
  const dev = page.getByRole("row", { name: /Development default project_dev SQL only project-dev trial, region/ })
  await dev.waitFor()
  assert.lengthOf(await sql(service, "select from pg_namespace where nspname = 'project_dev'"), 1)

  await dev.getByRole("button", { name: "Edit" }).click()
  await page.getByLabel("Config").fill('{"region": "us"}')
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByText("Environment changed").waitFor()
  assert.deepStrictEqual(await sql(service, "select config from svc.environments"), [{ config: { region: "us" } }])

  await page.getByRole("button", { name: "Create environment" }).click()
  await page.getByLabel("Name").fill("QA")
  await page.getByLabel("Slug").fill("qa")
  // Another client is faster: the limit is explained where it is met.
  const { id } = (await post("Other", "other")).json as { readonly id: number }
  const dialog = page.getByRole("dialog")
  await dialog.getByRole("button", { name: "Create environment" }).click()
  await dialog.getByText("A project may have 2 environments").waitFor()
  await dialog.getByText("Raise SVC_MAX_ENVIRONMENTS").waitFor()
  await dialog.getByRole("button", { name: "Cancel" }).click()
  await page.reload()
  await page.getByText(/2 environments of at most 2/).waitFor()
  await assertCount(page.getByRole("button", { name: "Create environment" }), 0)

  const other = page.getByRole("row", { name: /^Other/ })
  await other.getByRole("button", { name: "Make default" }).click()
  await page.getByText("Other is the default").waitFor()
  await page.getByRole("row", { name: /^Other default/ }).waitFor()
  await assertCount(other.getByRole("button", { name: "Delete" }), 0)
  await page
    .getByRole("row", { name: /^Development/ })
    .getByRole("button", { name: "Delete" })
    .click()
  await page.getByLabel("Type Development to confirm").fill("Development")
  await page.getByRole("button", { name: "Delete environment" }).click()
  await page.getByText("Environment deleted").waitFor()
  await page.getByRole("button", { name: "Show deleted (1)" }).click()
  await page.getByRole("row", { name: /Development deleted/ }).waitFor()

  // Its schema still reserves the slug.
  await page.getByRole("button", { name: "Create environment" }).click()
  await page.getByLabel("Name").fill("Development again")
  await page.getByLabel("Slug").fill("dev")
  await page.getByRole("dialog").getByRole("button", { name: "Create environment" }).click()
  await page.getByText(/still exists from environment \d+, which was deleted/).waitFor()
  assert.isAbove(id, 0)
})
