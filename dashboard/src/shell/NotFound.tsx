import { Link } from "@tanstack/react-router"
import { Empty } from "../ui/Empty.tsx"

export const NotFound = () => (
  <Empty
    icon="search"
    title="No such page"
    action={
      <Link to="/tables" className="button main">
        Go to the tables
      </Link>
    }
  >
    The address may have a typing error, or the page may be of another version of the service.
  </Empty>
)
