import "./ui/theme.css"
import "./ui/parts.css"
import "./shell/shell.css"
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { createRoot } from "react-dom/client"
import { guardJsonParse } from "../../src/domain/text/EscapedKeys.ts"
import { catalogueQuery } from "./catalogue/queries.ts"
import { router } from "./routes.tsx"
import { signInByLink } from "./shell/link.ts"
import { applyTheme, currentTheme } from "./shell/theme.ts"
import { ApiError } from "./wire/ApiError.ts"
import { isSettled } from "./wire/place.ts"
import { Queries } from "./wire/Queries.ts"
import { session } from "./wire/session.ts"

guardJsonParse()

// A page that is older than the service asks for files that are gone.
addEventListener("vite:preloadError", (event) => {
  const kept = "svc.reloaded"
  if (sessionStorage.getItem(kept) !== null) return
  sessionStorage.setItem(kept, "1")
  event.preventDefault()
  location.reload()
})

applyTheme(currentTheme())
void signInByLink()

const client = new Queries({
  defaultOptions: {
    queries: {
      // What the service refuses, or is not configured for, it refuses again.
      retry: (times, error) =>
        times < 2 && !(error instanceof ApiError && (error.status < 500 || error.body.code === "NOT_CONFIGURED")),
      refetchOnWindowFocus: false,
      staleTime: 10_000
    }
  }
})

// The rows of a table wait for it, and the page for its own code and the session: it is asked for meanwhile.
if (isSettled && /^\/dashboard\/(?:tables|$)/.test(location.pathname)) void client.prefetchQuery(catalogueQuery)

// Nothing of the last session is left for the next.
session.subscribe(() => {
  if (session.state() === "out") client.clear()
})

const place = document.getElementById("app")
if (place !== null) {
  createRoot(place).render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  )
}
