import { Effect, Layer } from "effect"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { supabaseCorsHeaders } from "../front/Cors.ts"
import { type Surface, Surfaces } from "../front/Surfaces.ts"
import { notServed, shaped, type SupabaseApi } from "./Errors.ts"
import { SupabaseGate } from "./Gate.ts"

const prefix = /^\/(rest|auth|storage|realtime|functions|graphql)\/v1(?=\/|$)/

/** Adds the paths of Supabase's clients to Front, if they are served. */
export const SupabaseSurfaces = Layer.effectDiscard(
  Effect.gen(function* () {
    if (!(yield* SupabaseSettings).enabled) return
    const gate = yield* SupabaseGate

    const shapedAs = (api: SupabaseApi) =>
      ({
        cors: (_path: string, origin: string | undefined) => supabaseCorsHeaders(origin),
        error: (response, { http }) => shaped(api, response, http.method)
      }) satisfies Surface
    const surfaceOf = (api: Exclude<SupabaseApi, "rest">): Surface => ({
      ...shapedAs(api),
      streams: api === "functions" || api === "storage",
      noRoute: ({ path }) => notServed(api, path)
    })
    const byApi: Readonly<Record<SupabaseApi, Surface>> = {
      rest: {
        ...shapedAs("rest"),
        // The routes of /v1/db serve /rest/v1 too.
        routed: (url) => `/v1/db${url.slice("/rest/v1".length)}`,
        enter: (request) => gate.enter(request.headers, request)
      },
      auth: surfaceOf("auth"),
      storage: surfaceOf("storage"),
      realtime: surfaceOf("realtime"),
      functions: surfaceOf("functions"),
      graphql: surfaceOf("graphql")
    }
    ;(yield* Surfaces).add((path) => {
      const api = prefix.exec(path)?.[1] as SupabaseApi | undefined
      return api && byApi[api]
    })
  })
)
