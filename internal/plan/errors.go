package plan

import (
	"fmt"

	"github.com/muster-deploy/muster/internal/object"
)

// ExternalError says that a wanted object depends on one that is not part of the set.
type ExternalError struct{ From, To object.Ref }

func (e *ExternalError) Error() string {
	return fmt.Sprintf("depends on %s, which is not part of the set; add it or remove the dependency", e.To)
}
