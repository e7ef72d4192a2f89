import { type Page } from "playwright-core"
import { beforeAll, inject } from "vitest"
import { ask, sql } from "../support/client.ts"
import { flagOf, makeFlag, makeSegment } from "../support/flags/api.ts"
import { at, checkPages } from "../support/ui/dashboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"
import { makeShop } from "../support/ui/tables.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()
const flag = `state-flag-${process.pid}`
const bucket = `state-${process.pid}`
let order: string
beforeAll(async () => {
  order = (await makeShop(20)).order
  await makeSegment(service, `${flag}-staff`, { ends_with: [{ var: "email" }, "@example.com"] })
  await makeFlag(service, flag, {
    description: "The new checkout",
    targeting: {
      if: [
        { $ref: `${flag}-staff` },
        "on",
        {
          fractional: [
            ["on", 10],
            ["off", 90]
          ]
        }
      ]
    }
  })
  await flagOf(service, `PATCH /${flag}/toggle?environment=dev`)
  const { service_role: key } = service
  await ask(service, "POST /api/storage/buckets", { key, body: { name: bucket } })
  await ask(service, "POST /api/storage/buckets", { key, body: { name: `${bucket}-empty` } })
  for (const name of ["notes.txt", "photos/cat.png", "exports/2026.csv"]) {
    await ask(service, `POST /api/storage/buckets/${bucket}/objects/upload-text`, {
      key,
      body: { key: name, content: "Hello", contentType: "text/plain" }
    })
  }
})

const onFlag = async (page: Page, ...buttons: ReadonlyArray<string>) => {
  await page.goto(at(`/flags/${flag}`))
  await page.getByRole("table", { name: "History" }).waitFor()
  for (const name of buttons) await page.getByRole("button", { name }).first().click()
}
const onPolicies = async (page: Page, ...buttons: ReadonlyArray<string>) => {
  await page.goto(at(`/policies/public/${order}`))
  await page.getByRole("heading", { name: /^Row-level security is/ }).waitFor()
  for (const name of buttons) await page.getByRole("button", { name }).first().click()
}

/** Every state of the pages about flags, files, the schema and policies. */
const states: States = {
  flags: async (page) => {
    await page.goto(at("/flags"))
    await page.getByRole("link", { name: flag, exact: true }).waitFor()
  },
  "flags, none matches": async (page) => {
    await states["flags"]?.(page)
    await page.getByLabel("Find a flag").fill("nowhere")
    await page.getByText("No flag matches").waitFor()
  },
  "flag form": async (page) => {
    await states["flags"]?.(page)
    await page.getByRole("button", { name: "Create flag" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "no such flag": async (page) => {
    await page.goto(at("/flags/nowhere"))
    await page.getByText("No such flag").waitFor()
  },
  flag: (page) => onFlag(page),
  "flag evaluated": async (page) => {
    await onFlag(page, "Evaluate")
    await page.getByRole("region", { name: "As saved", exact: true }).waitFor()
  },
  "flag refused": async (page) => {
    await onFlag(page)
    await page.getByRole("button", { name: "JSON", exact: true }).click()
    await page.getByLabel("Targeting as JSON").fill('{"nowhere": [1]}')
    await page.getByRole("button", { name: "Save in production" }).click()
    await page.getByRole("alert").waitFor()
  },
  "flag not JSON": async (page) => {
    await onFlag(page)
    await page.getByRole("button", { name: "JSON", exact: true }).click()
    await page.getByLabel("Targeting as JSON").fill("{")
    await page.getByRole("alert").waitFor()
  },
  "flag promoted": (page) => onFlag(page, "Promote…"),
  "flag's change": (page) => onFlag(page, "Show change"),
  segments: async (page) => {
    await page.goto(at("/segments"))
    await page.getByRole("link", { name: flag, exact: true }).waitFor()
  },
  "segment form": async (page) => {
    await states["segments"]?.(page)
    await page.getByRole("button", { name: "Create segment" }).click()
    await page.getByRole("dialog").waitFor()
  },
  buckets: async (page) => {
    await page.goto(at("/storage"))
    await page.getByRole("link", { name: bucket, exact: true }).waitFor()
  },
  "bucket empty": async (page) => {
    await page.goto(at(`/storage/${bucket}-empty`))
    await page.getByText("No files yet").waitFor()
  },
  "no such bucket": async (page) => {
    await page.goto(at("/storage/nowhere"))
    await page.getByText("No such bucket").waitFor()
  },
  bucket: async (page) => {
    await page.goto(at(`/storage/${bucket}`))
    await page.getByRole("button", { name: "notes.txt" }).waitFor()
  },
  "file preview": async (page) => {
    await states["bucket"]?.(page)
    await page.getByRole("button", { name: "notes.txt" }).click()
    await page.getByText("ETag").waitFor()
  },
  "file's metadata": async (page) => {
    await states["file preview"]?.(page)
    await page.getByRole("button", { name: "Metadata and tags…" }).click()
    await page.getByRole("button", { name: "Add tag" }).click()
  },
  "bucket's access": async (page) => {
    await page.goto(at(`/storage/${bucket}/settings`))
    await page.getByRole("form", { name: "Access" }).getByLabel("Access").selectOption("public")
    await page.getByRole("button", { name: "Rule", exact: true }).click()
  },
  "files deleted": async (page) => {
    await states["bucket"]?.(page)
    await page.getByLabel("Select all that are shown").check()
    await page.getByRole("button", { name: "Delete 3 items" }).click()
    await page.getByRole("dialog").waitFor()
  },
  schema: async (page) => {
    await page.goto(at("/schema"))
    await page.getByRole("region", { name: order }).getByText("Indexes").waitFor()
  },
  "schema that is not exposed": async (page) => {
    const hidden = `hidden_${process.pid}`
    await sql(service, `create schema if not exists ${hidden}`)
    await sql(service, `create table if not exists ${hidden}.kept (id int primary key)`)
    await page.goto(at(`/schema?schema=${hidden}`))
    await page.getByText("This schema is not in").waitFor()
    const card = page.getByRole("region", { name: "kept" })
    await card.getByText("integer").waitFor()
    await assertCount(card.getByRole("link"), 0)
  },
  "schema, none matches": async (page) => {
    await page.goto(at("/schema?find=nowhere"))
    await page.getByText("No table matches").waitFor()
  },
  "enum form": async (page) => {
    await states["schema"]?.(page)
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("button", { name: "Enum…" }).click()
    await page.getByRole("button", { name: "Create enum" }).waitFor()
  },
  extensions: async (page) => {
    await page.goto(at("/extensions"))
    await page.getByRole("table", { name: "Available extensions" }).waitFor()
    await page.getByRole("table", { name: "Missing extensions" }).waitFor()
  },
  "extension form": async (page) => {
    await page.goto(at("/extensions?find=pg_stat_statements"))
    await page.getByRole("button", { name: "Create" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "no extension found": async (page) => {
    await page.goto(at("/extensions?find=no+such+thing"))
    await page.getByText("No extension matches").waitFor()
  },
  diagram: async (page) => {
    await page.goto(at("/schema?view=diagram"))
    await page.getByRole("group", { name: new RegExp(`^Table ${order}`) }).waitFor()
  },
  policies: async (page) => {
    await page.goto(at("/policies"))
    await page.getByRole("link", { name: order }).waitFor()
  },
  "policies of a table": (page) => onPolicies(page),
  "policy form": (page) => onPolicies(page, "Add policy", "Own rows"),
  "policies tested": async (page) => {
    await onPolicies(page, "Test")
    await page.getByRole("table", { name: "What this caller may do" }).waitFor()
  },
  "row-level security turned on": (page) => onPolicies(page, "Turn on…"),
  "no such table": async (page) => {
    await page.goto(at("/policies/public/nowhere"))
    await page.getByText("No such table").waitFor()
  }
}

checkStates(states, { store: true })
