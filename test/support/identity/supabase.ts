import { assert } from "vitest"

type Answer = { readonly data: unknown; readonly error: unknown }

/** The data of an answer of supabase-js, which must have no error. */
export const ok = <A extends Answer>({ data, error }: A) => {
  assert.isNull(error)
  return data as Extract<A, { readonly error: null }>["data"]
}
