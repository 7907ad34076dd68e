package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

type (
	// A doomedObject is an object that DeleteObjects names.
	doomedObject struct {
		Key       string
		VersionID string  `xml:"VersionId"`
		ETag      *string `xml:"ETag"`
	}
	deletedObject struct {
		Key                   string
		VersionID             string `xml:"VersionId,omitempty"`
		DeleteMarker          bool   `xml:",omitempty"`
		DeleteMarkerVersionID string `xml:"DeleteMarkerVersionId,omitempty"`
	}
	failedDeletion struct {
		Key       string
		VersionID string `xml:"VersionId,omitempty"`
		Code      string
		Message   string
	}
)

// deleteObjects deletes up to a thousand objects in one transaction. An object that
// cannot be deleted is reported in the response, and does not affect the others.
func (s *Service) deleteObjects(q *s3Request) error {
	var list struct {
		Quiet  bool
		Object []doomedObject
	}
	if err := q.sent("Delete", maxList, &list); err != nil {
		return err
	}
	if len(list.Object) == 0 || len(list.Object) > maxKeys {
		return errMalformedXML
	}
	var answer struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
		Deleted []deletedObject
		Error   []failedDeletion
	}
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		answer.Deleted, answer.Error = nil, nil
		b, err := s.bucketFor(q, tx)
		if err != nil {
			return err
		}
		for _, o := range list.Object {
			gone, err := s.removeNamed(ctx, tx, b, o)
			var refusal *awswire.Error
			switch {
			case errors.As(err, &refusal):
				answer.Error = append(answer.Error, failedDeletion{o.Key, o.VersionID, refusal.Code, refusal.Message})
			case err != nil:
				return fmt.Errorf("deleting objects: %w", err)
			default:
				d := deletedObject{Key: o.Key, VersionID: o.VersionID, DeleteMarker: gone.marker}
				if gone.marker {
					d.DeleteMarkerVersionID = gone.version
				}
				answer.Deleted = append(answer.Deleted, d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if list.Quiet {
		answer.Deleted = nil
	}
	return q.answer(answer)
}

func (s *Service) removeNamed(ctx context.Context, tx *store.Tx, b *bucketRow, o doomedObject) (deletion, error) {
	l := Location{b.Name, o.Key, o.VersionID}
	if err := checkKey(o.Key); err != nil {
		return deletion{}, err
	}
	if o.ETag != nil {
		if err := writeConditions(ctx, tx, l, http.Header{"If-Match": {*o.ETag}}); err != nil {
			return deletion{}, err
		}
	}
	return s.remove(ctx, tx, b, l)
}

func (s *Service) getObjectTagging(q *s3Request) error {
	o, err := s.objectFor(q, s.store.Read())
	if err != nil {
		return err
	}
	var answer taggingDocument
	answer.XMLName.Space = s3Namespace
	answer.XMLName.Local = "Tagging"
	answer.TagSet.Tag = o.Attributes.Get().Tags
	return q.answer(answer)
}

func (s *Service) putObjectTagging(q *s3Request) error {
	text, err := q.document(maxDocument)
	if err != nil {
		return err
	}
	tags, err := parseTagging(text, 10)
	if err != nil {
		return err
	}
	return s.setTags(q, tags, http.StatusOK)
}

func (s *Service) deleteObjectTagging(q *s3Request) error {
	return s.setTags(q, nil, http.StatusNoContent)
}

// setTags gives an object other tags, and answers with a status.
func (s *Service) setTags(q *s3Request, tags []tag, status int) error {
	err := s.store.Write(q.ctx, func(ctx context.Context, tx *store.Tx) error {
		o, err := s.objectFor(q, tx)
		if err != nil {
			return err
		}
		a := o.Attributes.Get()
		a.Tags = tags
		o.Attributes = store.JSONOf(a)
		if err := store.Update(ctx, tx, o, "attributes"); err != nil {
			return fmt.Errorf("tagging the object: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	q.w.WriteHeader(status)
	return nil
}

func (s *Service) getObjectACL(q *s3Request) error {
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	if _, err := liveObject(q.ctx, s.store.Read(), q.Location, q.w.Header()); err != nil {
		return err
	}
	q.write("application/xml", []byte(xml.Header), []byte(ownerACL(b.Account)))
	return nil
}

// putObjectACL accepts only lists that grant nothing beyond the owner: all others would have
// no effect here.
func (s *Service) putObjectACL(q *s3Request) error {
	text, err := q.document(maxDocument)
	if err != nil {
		return err
	}
	b, err := s.bucketFor(q, s.store.Read())
	if err != nil {
		return err
	}
	if _, err := liveObject(q.ctx, s.store.Read(), q.Location, q.w.Header()); err != nil {
		return err
	}
	if err := s.checkACL(q.ctx, s.store.Read(), b, q.r.Header, len(text) > 0); err != nil {
		return err
	}
	if canned := q.header("X-Amz-Acl"); len(text) > 0 || grants(q.r.Header) || canned != "private" && canned != "bucket-owner-full-control" {
		return s3NotImplemented("an access control list of an object, other than private,")
	}
	q.w.WriteHeader(http.StatusOK)
	return nil
}
