import { type Page } from "playwright-core"
import { assert, describe, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { makeShop } from "../support/ui/tables.ts"

const service = inject("service")
checkPages()
let made = 0
const newName = () => `alter_${process.pid}_${++made}`

describe("a new table", () => {
  it("is made as its SQL says, closed to anon keys, and can be used at once", async () => {
    const { customer } = await makeShop(3)
    const name = newName()
    const page = await openPage()
    await page.goto(at("/tables"))
    await page.getByRole("button", { name: "New table" }).click()
    const dialog = page.getByRole("dialog", { name: "New table" })
    const run = dialog.getByRole("button", { name: "Create table" })
    assert.strictEqual(await run.getAttribute("aria-disabled"), "true")
    await dialog.getByLabel("Table name").fill(name)
    await dialog.getByLabel("Table comment").fill("What they say")
    await dialog.getByRole("button", { name: "Add column" }).click()
    await page.keyboard.type("customer")
    const added = dialog.getByRole("group", { name: "Column customer" })
    await added.getByText("Reference, comment").click()
    await added.getByLabel("Refers to").selectOption(`${customer} (id)`)
    await added.getByLabel("When that row is deleted").selectOption("cascade")
    assert.strictEqual(await added.getByLabel("Type").inputValue(), "integer")
    await added.getByLabel("Not null").check()
    await dialog.getByRole("region", { name: "SQL" }).getByText(`create table "public"."${name}"`).waitFor()
    await assertAccessible(page, "a new table")
    await run.click()
    await page.waitForURL(new RegExp(`/tables/public/${name}$`))
    await page.getByText("No rows yet").waitFor()
    await page.getByRole("link", { name: "0 policies" }).waitFor()
    const { service_role: key } = service
    const { status } = await ask(service, `POST /v1/db/${name}`, { key, body: { customer: 1 } })
    assert.strictEqual(status, 201)
    const closed = await ask(service, `GET /v1/db/${name}`, { key: service.anon })
    assert.deepStrictEqual(closed.json, [])
    await sql(service, `delete from ${customer} where id = 1`)
    assert.deepStrictEqual(await sql(service, `select count(*)::int from ${name}`), [{ count: 0 }])
  })

  it("is not there after Cancel, and a refused one keeps what was typed", async () => {
    const name = newName()
    const page = await openPage()
    await page.goto(at("/keys"))
    await page.getByRole("table").waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("new table")
    await page.keyboard.press("Enter")
    const dialog = page.getByRole("dialog", { name: "New table" })
    await dialog.getByLabel("Table name").fill(name)
    await dialog.getByRole("group", { name: "Column created_at" }).getByLabel("Type").fill("nonsense")
    await dialog.getByRole("button", { name: "Create table" }).click()
    await dialog.getByText("The table was not created").waitFor()
    await dialog.getByText('type "nonsense" does not exist').waitFor()
    await dialog.getByRole("group", { name: "Column created_at" }).getByLabel("Type").fill("text")
    await dialog.getByRole("group", { name: "Column created_at" }).getByLabel("Default (SQL)").fill("draft")
    await dialog.getByRole("button", { name: "Create table" }).click()
    await dialog.getByText("A text in a default is in quotes: 'draft' of the column created_at.").waitFor()
    assert.strictEqual(await dialog.getByLabel("Table name").inputValue(), name)
    await dialog.getByText("Row-level security", { exact: true }).click()
    await dialog.getByText(/Everyone who has an anon key/).waitFor()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    assert.deepStrictEqual(await sql(service, `select to_regclass('${name}') as found`), [{ found: null }])
  })

  it("may have more comments than a transaction has statements", async () => {
    const name = newName()
    const columns = Array.from({ length: 24 }, (_, at) => `c${at} text`)
    await sql(service, `create table ${name} (${columns.join(", ")})`)
    const page = await openPage()
    await page.goto(at(`/tables/public/${name}`))
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Edit table" }).click()
    const dialog = page.getByRole("dialog", { name: `Edit ${name}` })
    await dialog.getByRole("group", { name: "Column c23" }).waitFor()
    for (const [at, group] of (await dialog.getByRole("group", { name: /^Column/ }).all()).entries()) {
      await group.getByText("Reference, comment").click()
      await group.getByLabel("Comment").fill(`It's $ddl$ number ${at}`)
    }
    await dialog.getByRole("button", { name: "Change table" }).click()
    await page.getByText(`${name} changed`).waitFor()
    const [{ found } = {}] = await sql(service, `select col_description('${name}'::regclass, 24) as found`)
    assert.strictEqual(found, "It's $ddl$ number 23")
  })
})

describe("a table that is there", () => {
  it("gets, loses and renames columns, and its name, with its rows", async () => {
    const { order } = await makeShop(3)
    const name = newName()
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}`))
    await page.getByRole("gridcell").first().waitFor()
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Edit table" }).click()
    const dialog = page.getByRole("dialog", { name: `Edit ${order}` })
    await dialog.getByText("-- Nothing is changed yet").waitFor()
    await dialog.getByLabel("Table name").fill(name)
    await dialog.getByRole("button", { name: "Remove column details" }).click()
    await dialog.getByText(/details: the values in this column are deleted/).waitFor()
    const total = dialog.getByRole("group", { name: "Column total" })
    await total.getByLabel("Name").fill("amount")
    const amount = dialog.getByRole("group", { name: "Column amount" })
    await amount.getByLabel("Type").fill("double precision")
    await amount.getByLabel("Not null").uncheck()
    await dialog.getByRole("button", { name: "Add column" }).click()
    await page.keyboard.type("paid")
    const paid = dialog.getByRole("group", { name: "Column paid" })
    await paid.getByLabel("Type").fill("boolean")
    await paid.getByLabel("Default (SQL)").fill("true")
    await assertAccessible(page, "a table that is changed")
    await dialog.getByRole("button", { name: "Change table" }).click()
    await page.waitForURL(new RegExp(`/tables/public/${name}$`))
    await page.getByRole("columnheader", { name: /^amount/ }).waitFor()
    assert.deepStrictEqual(await sql(service, `select id, amount, paid from ${name} where id = 1`), [
      { id: 1, amount: 1.1, paid: true }
    ])
    const columns = await sql(
      service,
      `select attname, attnotnull from pg_attribute where attrelid = '${name}'::regclass and attnum > 0 and not attisdropped order by attnum`
    )
    assert.deepStrictEqual(
      columns.map(({ attname }) => attname),
      ["id", "customer_id", "status", "amount", "note", "placed_at", "paid"]
    )
    assert.isFalse(columns[3]?.["attnotnull"])
  })

  it("is changed as a whole or not at all", async () => {
    const { order } = await makeShop(3)
    const page = await openPage()
    await page.goto(at(`/tables/public/${order}`))
    await page.getByRole("gridcell").first().waitFor()
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Edit table" }).click()
    const dialog = page.getByRole("dialog", { name: `Edit ${order}` })
    await dialog.getByRole("button", { name: "Remove column details" }).click()
    await dialog.getByRole("group", { name: "Column note" }).getByLabel("Type").fill("integer")
    await sql(service, `update ${order} set note = 'five' where id = 1`)
    await dialog.getByRole("button", { name: "Change table" }).click()
    await dialog.getByText("Nothing was changed").waitFor()
    await dialog.getByText(/invalid input syntax for type integer: "five"/).waitFor()
    assert.lengthOf(await sql(service, `select details from ${order}`), 3)
  })

  it("is dropped by its name; what refers to it only with cascade", async () => {
    const { customer, order } = await makeShop(3)
    const page = await openPage()
    await page.goto(at(`/tables/public/${customer}`))
    await page.getByRole("gridcell").first().waitFor()
    await page.getByRole("button", { name: "More" }).click()
    await page.getByRole("button", { name: "Drop table" }).click()
    const dialog = page.getByRole("dialog", { name: `Drop ${customer}?` })
    await dialog.getByText(order).waitFor()
    const drop = dialog.getByRole("button", { name: "Drop table" })
    assert.strictEqual(await drop.getAttribute("aria-disabled"), "true")
    await dialog.getByLabel(`Type ${customer} to confirm`).fill(customer)
    await drop.click()
    await dialog.getByText(/other objects depend on it/).waitFor()
    await dialog.getByText("Drop what depends on it, too").click()
    await assertAccessible(page, "a table that is dropped")
    await drop.click()
    await page.waitForURL(/\/tables$/)
    await page.getByText(`${customer} dropped`).waitFor()
    assert.deepStrictEqual(await sql(service, `select to_regclass('${customer}') as found`), [{ found: null }])
    assert.lengthOf(await sql(service, `select id from ${order}`), 3)
  })
})

describe("what belongs to a schema", () => {
  const create = async (page: Page, entry: string) => {
    await page.getByRole("button", { name: "Create", exact: true }).click()
    await page.getByRole("button", { name: entry }).click()
  }

  it("is made by forms in a new schema, and goes with it", async () => {
    const name = newName()
    const page = await openPage()
    await page.goto(at("/schema"))
    await create(page, "Schema…")
    await page.getByRole("dialog").getByLabel("Name").fill(name)
    await page.getByRole("button", { name: "Create schema" }).click()
    await page.getByText("This schema is not in").waitFor()
    assert.strictEqual(await page.getByLabel("Schema", { exact: true }).inputValue(), name)

    await create(page, "Enum…")
    const mood = page.getByRole("dialog", { name: "New enum" })
    await mood.getByLabel("Name").fill("mood")
    assert.strictEqual(await mood.getByLabel("Schema").inputValue(), name)
    await mood.getByLabel("Value 1", { exact: true }).fill("it's")
    await mood.getByRole("button", { name: "Add value", exact: true }).click()
    await mood.getByLabel("Value 2", { exact: true }).fill("fine")
    await mood.getByRole("button", { name: "Create enum" }).click()
    const enums = page.getByRole("table", { name: "Enums" })
    await enums.getByText("it's · fine").waitFor()
    await enums.getByRole("button", { name: "Edit" }).click()
    const edit = page.getByRole("dialog", { name: "Edit mood" })
    await edit.getByText("-- Nothing is changed yet").waitFor()
    await edit.getByRole("button", { name: "Add a value before value 2" }).click()
    await edit.getByLabel("Value 2 (new)").fill("so-so")
    await edit.getByLabel("Value 3", { exact: true }).fill("great")
    await edit.getByRole("button", { name: "Change enum" }).click()
    await enums.getByText("it's · so-so · great").waitFor()

    await create(page, "Function…")
    const made = page.getByRole("dialog", { name: "New function" })
    await made.getByLabel("Name").fill("shout")
    await made.getByLabel("Language").selectOption("sql")
    await made.getByLabel("Returns").fill("text")
    await made.getByRole("button", { name: "Add argument" }).click()
    await made.getByRole("group", { name: "Argument 1" }).getByLabel("Name").fill("words")
    await made.getByRole("textbox", { name: "Body" }).click()
    await page.keyboard.press("Control+a")
    await page.keyboard.insertText("select upper(words)")
    await made.getByLabel("With the rights of its owner").check()
    await made.getByRole("region", { name: "SQL" }).getByText("set search_path to ''").waitFor()
    await assertAccessible(page, "a new function")
    await made.getByRole("button", { name: "Create function" }).click()
    await page.getByText("shout created").waitFor()
    assert.deepStrictEqual(await sql(service, `select ${name}.shout('a') as loud`), [{ loud: "A" }])
    await sql(service, `grant execute on function ${name}.shout to anon`)
    await page.getByRole("table", { name: "Functions" }).getByRole("button", { name: "Edit" }).click()
    const replaced = page.getByRole("dialog", { name: "Edit shout" })
    await replaced.getByRole("textbox", { name: "Body" }).click()
    await page.keyboard.press("Control+End")
    await page.keyboard.insertText(" || '!'")
    await replaced.getByLabel("Comment").fill("Loud")
    await replaced.getByRole("button", { name: "Replace function" }).click()
    await page.getByText("shout changed").waitFor()
    assert.deepStrictEqual(
      await sql(
        service,
        `select ${name}.shout('a') as loud, obj_description('${name}.shout'::regproc) as comment,
           has_function_privilege('anon', '${name}.shout(text)', 'execute') as granted, p.proconfig
         from pg_proc p where oid = '${name}.shout'::regproc`
      ),
      [{ loud: "A!", comment: "Loud", granted: true, proconfig: ['search_path=""'] }]
    )

    await create(page, "Table…")
    const table = page.getByRole("dialog", { name: "New table" })
    await table.getByLabel("Table name").fill("days")
    assert.strictEqual(await table.getByLabel("Schema").inputValue(), name)
    await table.getByRole("button", { name: "Add column" }).click()
    await page.keyboard.type("mood")
    await table.getByRole("group", { name: "Column mood" }).getByLabel("Type").fill(`${name}.mood`)
    await table.getByRole("button", { name: "Create table" }).click()
    await page.waitForURL(new RegExp(`schema=${name}`))
    await page.getByRole("region", { name: "days" }).waitFor()
    await enums.getByRole("button", { name: "Drop" }).click()
    const drop = page.getByRole("dialog", { name: "Drop mood?" })
    await drop.getByText(/1 column of tables has this type/).waitFor()
    await drop.getByRole("button", { name: "Cancel" }).click()

    await create(page, `Drop schema ${name}…`)
    const gone = page.getByRole("dialog", { name: `Drop ${name}?` })
    await gone.getByLabel(`Type ${name} to confirm`).fill(name)
    await gone.getByRole("button", { name: "Drop schema" }).click()
    await gone.getByText(/other objects depend on it/).waitFor()
    await gone.getByText("Drop everything in it, too").click()
    await assertAccessible(page, "a schema that is dropped")
    await gone.getByRole("button", { name: "Drop schema" }).click()
    await page.getByText(`${name} dropped`).waitFor()
    assert.deepStrictEqual(await sql(service, `select to_regnamespace('${name}') as found`), [{ found: null }])
  })

  it("such as indexes and triggers of a table is made and dropped", async () => {
    const { order } = await makeShop(20)
    const name = newName()
    await sql(
      service,
      `create function ${name}() returns trigger language plpgsql as $$ begin new.note := tg_argv[0]; return new; end $$`
    )
    const page = await openPage()
    await page.goto(at(`/schema?find=${order}`))
    const card = page.getByRole("region", { name: order })
    await card.getByRole("button", { name: "Add index" }).click()
    const index = page.getByRole("dialog", { name: `Add an index to ${order}` })
    await index.getByLabel("Name").fill(`${order}_note`)
    await index.getByLabel("By").selectOption("an expression")
    await index.getByLabel("Expression (SQL)").fill("lower(note)")
    await index.getByLabel("Only rows for which").fill("note is not null")
    await index.getByText("Columns that it returns as well").click()
    await index.getByRole("group", { name: "Include" }).getByLabel("total").check()
    assert.isTrue(await index.getByLabel("Without stopping writes").isChecked())
    await assertAccessible(page, "a new index")
    await index.getByRole("button", { name: "Create index" }).click()
    await card
      .getByText(`CREATE INDEX ${order}_note ON public.${order} USING btree (lower(note)) INCLUDE (total)`)
      .waitFor()
    assert.deepStrictEqual(
      await sql(service, `select indisvalid from pg_index where indexrelid = '${order}_note'::regclass`),
      [{ indisvalid: true }]
    )
    // An index of a constraint is dropped with it.
    assert.strictEqual(await card.getByRole("button", { name: `Drop ${order}_pkey` }).count(), 0)

    await card.getByRole("button", { name: "Add trigger" }).click()
    const trigger = page.getByRole("dialog", { name: `Add a trigger to ${order}` })
    await trigger.getByLabel("Name").fill("mark it")
    await trigger.getByText("Only when these columns are updated").click()
    await trigger.getByRole("group", { name: "Columns" }).getByLabel("total").check()
    await trigger.getByLabel("Only when", { exact: true }).fill("old.total <> new.total")
    await trigger.getByLabel("Function").selectOption(`public.${name}`)
    await trigger.getByLabel("Texts that it gets").fill("it's; new")
    await assertAccessible(page, "a new trigger")
    await trigger.getByRole("button", { name: "Create trigger" }).click()
    await card.getByRole("button", { name: "Drop mark it" }).waitFor()
    await sql(service, `update ${order} set total = 7 where id = 1`)
    assert.deepStrictEqual(await sql(service, `select note from ${order} where id = 1`), [{ note: "it's; new" }])
    for (const [gone, verb] of [
      ["mark it", "Drop trigger"],
      [`${order}_note`, "Drop index"]
    ] as const) {
      await card.getByRole("button", { name: `Drop ${gone}` }).click()
      await page.getByRole("dialog").getByRole("button", { name: verb }).click()
      await page.getByText(`${gone} dropped`).waitFor()
      assert.strictEqual(await card.getByRole("button", { name: `Drop ${gone}` }).count(), 0)
    }
  })

  it("is an extension in a schema of choice", async () => {
    await sql(service, "drop extension if exists tablefunc")
    const page = await openPage()
    await page.goto(at("/extensions"))
    await page.getByLabel("Find an extension").fill("tablefunc")
    const available = page.getByRole("table", { name: "Available extensions" })
    await available.getByRole("button", { name: "Create" }).click()
    const dialog = page.getByRole("dialog", { name: "Create tablefunc" })
    await dialog.getByLabel("Schema").selectOption("public")
    await dialog
      .getByRole("region", { name: "SQL" })
      .getByText('create extension "tablefunc" schema "public"')
      .waitFor()
    await dialog.getByRole("button", { name: "Create extension" }).click()
    const there = page.getByRole("table", { name: "Extensions", exact: true })
    await there.getByText("tablefunc").waitFor()
    assert.lengthOf(await sql(service, "select from pg_extension where extname = 'tablefunc'"), 1)
    await there.getByRole("button", { name: "Drop" }).click()
    const drop = page.getByRole("dialog", { name: "Drop tablefunc?" })
    await drop.getByLabel("Type tablefunc to confirm").fill("tablefunc")
    await drop.getByRole("button", { name: "Drop extension" }).click()
    await available.getByText("tablefunc").waitFor()
    await page.getByLabel("Find an extension").fill("vector")
    await page.getByRole("link", { name: "Documentation of vector" }).waitFor()
    await page.getByLabel("Find an extension").fill("no such thing")
    await page.getByText("No extension matches").waitFor()
  })
})
