import { Link } from "@tanstack/react-router"
import { Gone } from "../ui/page/Gone.tsx"

/** In place of the pages of a bucket that does not exist. */
export const NoBucket = () => (
  <Gone icon="storage" title="No such bucket">
    <Link className="button" to="/storage">
      All buckets
    </Link>
  </Gone>
)
