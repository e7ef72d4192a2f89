import { Button } from "../Button.tsx"
import { copy } from "../toast.ts"

/** Copies the request behind the page as curl, with a placeholder for the key. */
export const CopyRequest = ({ path }: { path: string }) => (
  <Button
    kind="quiet"
    icon="code"
    onClick={() => void copy(`curl -H "apikey: $SERVICE_KEY" "${location.origin}${path}"`, "Request")}
  >
    Copy request
  </Button>
)
