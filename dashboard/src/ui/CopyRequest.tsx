import { Button } from "./Button.tsx"
import { copy } from "./toast.ts"

interface CopyRequestProps {
  readonly path: string
  readonly method?: string
  readonly payload?: unknown
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** What the page has just asked, as curl, with a variable in place of the key. */
export const CopyRequest = ({ method = "GET", path, payload }: CopyRequestProps) => (
  <Button
    kind="quiet"
    icon="code"
    label="Copy request"
    onClick={() =>
      void copy(
        [
          "curl",
          ...(method === "GET" ? [] : [`-X ${method}`]),
          '-H "apikey: $SERVICE_KEY"',
          ...(payload === undefined
            ? []
            : ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(payload))}`]),
          quoted(location.origin + path)
        ].join(" "),
        "Request"
      )
    }
  />
)
