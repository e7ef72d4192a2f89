import { Effect, Layer } from "effect"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { OAuth2Endpoints } from "../../services/oauth2/Endpoints.ts"
import { type Surface, Surfaces } from "../front/Surfaces.ts"
import { bearer } from "../wire/ErrorBodies.ts"

/** The path of the metadata of this API as a resource (RFC 9728). */
const metadataPath = "/.well-known/oauth-protected-resource"

/** Adds `/mcp` to Front: its challenge says where clients find the OAuth 2.0 server that signs people in, if it is the embedded one. */
export const McpSurface = Layer.effectDiscard(
  Effect.gen(function* () {
    const { ownUrl } = yield* IdentitySettings
    const { handler } = yield* OAuth2Endpoints
    const surfaces = yield* Surfaces
    const surface: Surface = {
      ...surfaces.rest,
      challenge: (challenge) => {
        const scheme = challenge.startsWith("Bearer") ? challenge : bearer
        return handler === undefined ? scheme : `${scheme}, resource_metadata="${ownUrl}${metadataPath}"`
      }
    }
    surfaces.add((path) => (path === "/mcp" ? surface : undefined))
  })
)
