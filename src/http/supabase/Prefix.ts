/** An API of Supabase's clients, by the first segment of its paths. */
export type SupabaseApi = "rest" | "auth" | "storage" | "realtime" | "functions" | "graphql"

const prefix = /^\/(rest|auth|storage|realtime|functions|graphql)\/v1(?=\/|$)/

/** The API that a path belongs to. */
export const supabaseApiOf = (path: string): SupabaseApi | undefined =>
  prefix.exec(path)?.[1] as SupabaseApi | undefined

/** The URL below `/v1/db` that serves a URL or path of `/rest/v1`. */
export const rowsUrl = (url: string) => `/v1/db${url.slice("/rest/v1".length)}`
