package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/object"
)

// Read returns a revision with its objects. It sends one list, and one for each namespace in which
// the data of Secrets is stored. The error is a *NotFoundError, or a *PartError if a part with
// objects is missing or was altered; an object whose data is not readable says so.
func (s *Store) Read(ctx context.Context, number int) (*Revision, error) {
	parts, err := s.parts(ctx, s.Set.Namespace, number)
	if err != nil {
		return nil, fmt.Errorf("read revision %d of %q: %w", number, s.Set.Name, err)
	}
	var head *Head
	var names []string
	for _, obj := range parts {
		if isHead(obj) {
			h := newHead(obj, number)
			head, names = &h, append(names, h.name)
		}
	}
	switch {
	case len(names) > 1:
		return nil, severalHeads(number, names...)
	case head == nil:
		return nil, &NotFoundError{s.Set, number}
	case head.Err != nil:
		return nil, fmt.Errorf("revision %d cannot be read: %w", number, head.Err)
	}
	data, err := s.collect(head.Meta, "", parts)
	if err != nil {
		return nil, err
	}
	r, unpacker := &Revision{Meta: head.Meta}, boundedio.NewUnpacker(maxRevision)
	index, err := r.decode(data, unpacker)
	if err != nil {
		ref := head.Parts[0].ref(s.Set)
		return nil, &PartError{number, ref, "the content is damaged: " + err.Error()}
	}
	head.forgetStarted(r.Objects)
	s.addData(ctx, r, index, unpacker)
	return r, nil
}

// parts returns the Secrets of a revision in a namespace, by name. In another namespace than that
// of the record they have the names of parts.
func (s *Store) parts(
	ctx context.Context, namespace string, number int,
) (map[string]*unstructured.Unstructured, error) {
	found, err := s.Cluster.List(ctx, secretKind.GroupKind(), namespace, map[string]string{
		labelSet: s.Set.label(), labelRevision: strconv.Itoa(number),
	})
	parts := make(map[string]*unstructured.Unstructured, len(found))
	for _, obj := range found {
		elsewhere := namespace != s.Set.Namespace
		if obj.Object["type"] == secretType &&
			(!elsewhere || s.Set.isPartElsewhere(obj.GetName(), obj.GetLabels())) {
			parts[obj.GetName()] = obj
		}
	}
	return parts, err
}

// collect returns the data of the parts that a head names in a namespace, which is empty for that
// of the record.
func (s *Store) collect(
	head Meta, namespace string, parts map[string]*unstructured.Unstructured,
) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, part := range head.Parts {
		if part.Namespace != namespace {
			continue
		}
		obj := parts[part.Name]
		if obj == nil {
			return nil, &PartError{head.Number, part.ref(s.Set), "which is missing"}
		}
		data := dataOf(obj)
		if sumOf(data) != part.SHA256 {
			return nil, &PartError{head.Number, part.ref(s.Set), "the content was altered"}
		}
		for key, value := range data {
			all[key] = append(all[key], value...)
		}
	}
	return all, nil
}

// decode sets the objects of a revision, and returns the index of them.
func (r *Revision) decode(
	data map[string][]byte, unpacker *boundedio.Unpacker,
) ([]entry, error) {
	list, err := unpacker.Gunzip(data[keyIndex])
	if err != nil {
		return nil, err
	}
	var index []entry
	if err := json.Unmarshal(list, &index); err != nil {
		return nil, err
	}
	text, err := unpacker.Gunzip(data[keyObjects])
	if err != nil {
		return nil, err
	}
	r.Objects = make([]Object, 0, len(index))
	for one := range bytes.Lines(text) {
		if len(r.Objects) == len(index) {
			return nil, errors.New("it has more objects than the index")
		}
		e, obj := index[len(r.Objects)], &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(one); err != nil {
			return nil, err
		}
		obj.Object = content(obj)
		if object.RefOf(obj) != e.Ref || e.Data == OwnNamespace && !isSecret(e.Ref) {
			return nil, fmt.Errorf("the index names %s instead of %s", e.Ref, object.RefOf(obj))
		}
		o := Object{Unstructured: obj, Source: e.Source, Digest: e.Digest,
			Unstored: e.Unstored, Completed: e.Completed, data: e.DataDigest, stringKeys: e.StringKeys}
		if e.Keys != nil {
			o.keys = append([]string{}, *e.Keys...)
		}
		r.Objects = append(r.Objects, o)
	}
	if len(r.Objects) < len(index) {
		return nil, errors.New("it has fewer objects than the index")
	}
	if len(data[keyDetails]) == 0 {
		return index, nil
	}
	if text, err = unpacker.Gunzip(data[keyDetails]); err != nil {
		return nil, err
	}
	return index, json.Unmarshal(text, &r.Details)
}

// addData adds the data of Secrets in other namespaces to the objects, or why it is not readable.
func (s *Store) addData(
	ctx context.Context, r *Revision, index []entry, unpacker *boundedio.Unpacker,
) {
	read := map[string]map[string]map[string]any{} // by namespace and name
	failed := map[string]error{}
	for i, e := range index {
		obj := &r.Objects[i]
		switch e.Data {
		case "":
			continue
		case OnlyDigest:
			obj.Withheld = errors.New("only a digest of its data was stored")
			continue
		case NoData:
			obj.Withheld = errors.New("its data was not stored")
			continue
		}
		if _, ok := read[e.Namespace]; !ok {
			read[e.Namespace], failed[e.Namespace] = s.secretData(
				ctx, r.Meta, e.Namespace, unpacker)
		}
		data, ok := read[e.Namespace][e.Name]
		if obj.Withheld = failed[e.Namespace]; !ok && obj.Withheld == nil {
			obj.Withheld = errors.New("its data was not stored")
		}
		for _, field := range dataFields { // and nothing else: it was not read beside the record
			if value, ok := data[field]; ok {
				obj.Object[field] = value
			}
		}
	}
}

// secretData returns the data of the Secrets of a revision in a namespace, by name.
func (s *Store) secretData(
	ctx context.Context, head Meta, namespace string, unpacker *boundedio.Unpacker,
) (map[string]map[string]any, error) {
	parts, err := s.parts(ctx, namespace, head.Number)
	if err != nil {
		return nil, err
	}
	data, err := s.collect(head, namespace, parts)
	if err != nil {
		return nil, err
	}
	text, err := unpacker.Gunzip(data[keySecrets])
	if err != nil {
		return nil, err
	}
	fields := map[string]map[string]any{}
	for one := range bytes.Lines(text) {
		var secret secretData
		if err := json.Unmarshal(one, &secret); err != nil {
			return nil, err
		}
		fields[secret.Name] = secret.Fields
	}
	return fields, nil
}
