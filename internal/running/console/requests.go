package console

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const shownRequests = 50

// requestsView is the list of the requests of Cloud Control.
type requestsView struct {
	Rows        []cloudcontrol.RequestState
	Next, First string // addresses of pages, "" for none
}

func (c *Console) listRequests(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Requests", "requests"
	p.Follow = p.link("/requests/events")
	at := p.query.Get("before")
	before, token, err := readCallPlace(at)
	if err != nil {
		return nil, err
	}
	v := &requestsView{}
	v.Rows, err = c.config.Requests.Requests(r.Context(), cloudcontrol.RequestQuery{Place: p.Place, BeforeTime: before, BeforeToken: token, Limit: shownRequests + 1})
	if err != nil {
		return nil, err
	}
	if len(v.Rows) > shownRequests {
		v.Rows = v.Rows[:shownRequests]
		last := v.Rows[shownRequests-1]
		v.Next = p.link("/requests", "before", strconv.FormatInt(last.CreatedAt.UnixMicro(), 10)+"~"+last.Token)
	}
	if at != "" {
		v.First = p.link("/requests")
	}
	return p.requestsBody(v), nil
}

// followRequests notifies a page of changes.
func (c *Console) followRequests(w http.ResponseWriter, r *http.Request) {
	c.followMark(w, r, c.config.Requests.Mark)
}

// followMark notifies a page whenever the mark of its place changes.
func (c *Console) followMark(w http.ResponseWriter, r *http.Request, markOf func(ctx context.Context, place awswire.Place) (int64, error)) {
	place, err := c.place(r)
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	c.follow(w, r, func(s *stream) error {
		poll := time.NewTicker(2 * c.config.Poll)
		defer poll.Stop()
		last, err := markOf(s.ctx, place)
		for err == nil {
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-s.beat.C:
				err = s.alive()
				continue
			case <-poll.C:
			}
			var mark int64
			if mark, err = markOf(s.ctx, place); err == nil && mark != last {
				last, err = mark, s.send("change", "", nil)
			}
		}
		return err
	})
}
