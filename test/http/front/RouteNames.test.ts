import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import { document, routes } from "../../../src/http/OpenApi.ts"
import { routeName, routeNamesOf } from "../../../src/http/front/RouteNames.ts"

it("names the routes of the contract, whatever their parameters are", () => {
  for (const template of [...Object.keys(document().paths), ...routes.keys()]) {
    const path = template.replaceAll(/\{[^}]+\}/g, "some%20thing")
    assert.strictEqual(routeName(path), template)
  }
  assert.strictEqual(routeName("/v1/db/rpc/add"), "/v1/db/rpc/{function}")
  assert.strictEqual(routeName("/v1/db/rpc"), "/v1/db/{table}")
  assert.strictEqual(routeName("/dashboard/assets/x.js"), "/dashboard/{file}")
  for (const path of ["", "/dashboards", "/v1/db/a/b", "/api/keys/", "//", "/v1//db", "*"]) {
    assert.strictEqual(routeName(path), "", path)
  }
})

it("agrees with a comparison of segments, for any templates and paths", () => {
  const segment = fc.constantFrom("a", "b", "{x}", "")
  const templates = fc.array(fc.array(segment, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
  fc.assert(
    fc.property(
      templates,
      fc.array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 5 }),
      (all, path) => {
        const names = all.map((one) => `/${one.join("/")}`)
        const matching = all
          .filter(
            (one) =>
              one.length === path.length &&
              one.every((text, at) => text === path[at] || (text === "{x}" && path[at] !== ""))
          )
          .map((one) => `/${one.join("/")}`)
        const found = routeNamesOf(names)(`/${path.join("/")}`)
        if (matching.length === 0) assert.strictEqual(found, "")
        else assert.include(matching, found)
      }
    )
  )
})
