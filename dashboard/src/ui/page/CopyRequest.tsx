import { curlOf } from "../../wire/curl.ts"
import { Button } from "../Button.tsx"
import { copy } from "../toast.ts"

/** Copies the request behind the page. */
export const CopyRequest = ({ path }: { path: string }) => (
  <Button kind="quiet" icon="code" label="Copy request" onClick={() => void copy(curlOf(path), "Request")} />
)
