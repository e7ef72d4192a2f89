import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { BrandSettings } from "../../services/identity/Brand.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { inLanguage } from "../access/PageLanguage.ts"
import { queryFields } from "../pages/Pages.ts"
import { oauth2ErrorPage, signedOutPage } from "../pages/NoticePages.ts"

/** `/oauth2/signed-out` and `/oauth2/error`: where the OAuth 2.0 server ends (contract: http/api/NoticePages.ts). */
export const NoticePagesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { brand } = yield* BrandSettings
    yield* router.add(
      "GET",
      "/oauth2/signed-out",
      inLanguage(
        Effect.map(CurrentLanguage, (language) => signedOutPage({ brand, language })),
        false
      )
    )
    yield* router.add(
      "GET",
      "/oauth2/error",
      inLanguage(
        Effect.gen(function* () {
          const query = yield* queryFields
          return oauth2ErrorPage(query.get("error") ?? "", { brand, language: yield* CurrentLanguage })
        }),
        false
      )
    )
  })
)
