/** The SQL that the service generates for requests, with its catalogue, planner and writer in this process. */
import { Result, Schema } from "effect"
import { Client } from "pg"
import { type Catalogue, CatalogueRows, makeCatalogue } from "../../src/domain/catalogue/Catalogue.ts"
import { catalogueSql } from "../../src/domain/catalogue/CatalogueSql.ts"
import { type RowRead, RowReads } from "../../src/domain/rows/Reads.ts"
import { type RowSql } from "../../src/domain/rows/sql/Statement.ts"
import { queryPairs } from "../../src/domain/rows/parse/Parser.ts"

/** The service's defaults. */
const options = { maxRows: 10_000, aggregates: false }

export const newReads = () => new RowReads(options)
export const planOptions = options

export const readCatalogueText = async (client: Client): Promise<string> => {
  const { rows } = await client.query<[string]>({ text: catalogueSql, values: [["public"], "[]"], rowMode: "array" })
  return rows[0]?.[0] ?? ""
}

export const decodeCatalogue = Schema.decodeUnknownSync(Schema.fromJsonString(CatalogueRows))

export const withClient = async <A>(url: string, use: (client: Client) => Promise<A>) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

export const readCatalogue = (url: string): Promise<Catalogue> =>
  withClient(url, async (client) => makeCatalogue(decodeCatalogue(await readCatalogueText(client))))

/** A GET of `/v1/db/{table}?{query}`. */
export const readOf = (path: string): RowRead => {
  const { pathname, search } = new URL(path, "http://localhost")
  return {
    schema: "public",
    table: pathname.slice(pathname.lastIndexOf("/") + 1),
    query: queryPairs(search.slice(1)) ?? [],
    range: undefined,
    count: undefined,
    trusted: false,
    form: { media: "json", stripNulls: false }
  }
}

export const statementOf = (catalogue: Catalogue, reads: RowReads, path: string): RowSql =>
  Result.getOrThrow(reads.prepare(catalogue, readOf(path))).sql
