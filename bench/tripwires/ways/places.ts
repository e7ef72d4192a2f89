import { type Expr, type Maker } from "./maker.ts"

/**
 * Makes a relation of this name with columns `id int`, `v` of the case's kind, `t text` and at least one row, which evaluates
 * the expression when it is read or written.
 */
export type Place = (m: Maker, e: Expr, name: string) => void

export const tableOf = (m: Maker, name: string, more = "", options = "") =>
  m.add(`create table ${name} (id int primary key, v ${m.kind} default ${m.literal}, t text default 'a'${more}) ${options};
    insert into ${name} (id, v) values (1, ${m.literal}), (2, null); grant all on ${name} to public`)

export const bare = (name: string) => name.replace(/.*\./, "")
export const nested: { readonly flat?: boolean } = {}
export const flat = { flat: true }
export const test = (expression: string) => `(${expression}) is not null or true`
