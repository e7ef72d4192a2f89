import { Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { routerConfig, Routes } from "./Routes.ts"
import { layerBodyLimit } from "./wire/Body.ts"

/** All routes on an HttpServer. Failures are logged where they are answered; a line per request is a proxy's work. */
export const layer = HttpRouter.serve(Routes, { disableLogger: true, routerConfig }).pipe(
  Layer.provide(layerBodyLimit),
  Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => request.url.startsWith("/healthz")))
)
